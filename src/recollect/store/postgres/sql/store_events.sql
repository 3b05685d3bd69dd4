-- What a store says about its ledger comes from the owner alone. A seal states a hash and a digest that
-- verifying compares, so a false one would make a sound ledger look broken for good.

UPDATE recollect.kinds SET needs = 'person'
WHERE name IN ('ledger.tail_cut', 'ledger.sealed', 'ledger.loss_accepted');
UPDATE recollect.kinds SET system = 'person' WHERE name = 'ledger.sealed';
