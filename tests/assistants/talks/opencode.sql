CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer,
          CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO session VALUES ('ses_e09b7904dffedIRGansl0AMrG5', 'global', NULL, NULL, 'brave-rocket', '/ada/app', '', 'Fine. (fork #1)', '1.18.33', NULL, 0, 0, 0, NULL, NULL, 0.0, 50, 25, 0, 0, 0, NULL, NULL, 'build', '{"id":"scripted","providerID":"scripted","variant":"default"}', 1795133304754, 1795133314131, NULL, NULL);
INSERT INTO session VALUES ('ses_e09b83485ffedtgl4SKLvaRNB9', 'global', NULL, NULL, 'crisp-canyon', '/ada/app', '', 'Fine.', '1.18.33', NULL, 0, 0, 0, NULL, NULL, 0.0, 40, 20, 0, 0, 0, NULL, '[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]', 'build', '{"id":"scripted","providerID":"scripted","variant":"default"}', 1795133262714, 1795133292163, NULL, NULL);
INSERT INTO message VALUES ('msg_1f647cc66001XGGQdImngNeJrX', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133262950, 1795133271855, '{"role":"user","time":{"created":1795133262950},"agent":"build","model":{"providerID":"scripted","modelID":"scripted"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1f647d84b001lgChz428548IlO', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133265995, 1795133270788, '{"parentID":"msg_1f647cc66001XGGQdImngNeJrX","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/ada/app","root":"/ada/app"},"cost":0,"tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"scripted","time":{"created":1795133265995,"completed":1795133270786},"finish":"tool-calls"}');
INSERT INTO message VALUES ('msg_1f647eb0c001p4CnP4ZCeyhnDO', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133270796, 1795133271689, '{"parentID":"msg_1f647cc66001XGGQdImngNeJrX","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/ada/app","root":"/ada/app"},"cost":0,"tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"scripted","time":{"created":1795133270796,"completed":1795133271687},"finish":"tool-calls"}');
INSERT INTO message VALUES ('msg_1f647ee8e001FSLIxsD7uAU0Nz', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133271694, 1795133272117, '{"parentID":"msg_1f647cc66001XGGQdImngNeJrX","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/ada/app","root":"/ada/app"},"cost":0,"tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"scripted","time":{"created":1795133271694,"completed":1795133272111},"finish":"stop"}');
INSERT INTO message VALUES ('msg_1f6480f7a001OJKGzFEzztZLO0', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133280122, 1795133286343, '{"role":"user","time":{"created":1795133280122},"agent":"build","model":{"providerID":"scripted","modelID":"scripted"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1f648235d001Hk4MXZS5XqaV0Q', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133285213, 1795133292144, '{"parentID":"msg_1f6480f7a001OJKGzFEzztZLO0","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/ada/app","root":"/ada/app"},"cost":0,"tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"scripted","time":{"created":1795133285213,"completed":1795133292142},"finish":"stop"}');
INSERT INTO message VALUES ('msg_1f6486ffa001ZsVTkdvVQjRb0x', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133262950, 1795133304830, '{"role":"user","time":{"created":1795133262950},"agent":"build","model":{"providerID":"scripted","modelID":"scripted"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1f6488040001819ITYFEVymZIF', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133265995, 1795133308999, '{"parentID":"msg_1f6486ffa001ZsVTkdvVQjRb0x","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/ada/app","root":"/ada/app"},"cost":0,"tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"scripted","time":{"created":1795133265995,"completed":1795133270786},"finish":"tool-calls"}');
INSERT INTO message VALUES ('msg_1f6488087001ZKGjogWl9f4YtF', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133270796, 1795133309085, '{"parentID":"msg_1f6486ffa001ZsVTkdvVQjRb0x","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/ada/app","root":"/ada/app"},"cost":0,"tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"scripted","time":{"created":1795133270796,"completed":1795133271687},"finish":"tool-calls"}');
INSERT INTO message VALUES ('msg_1f64880d5001473XIjoSh0POem', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133271694, 1795133309142, '{"parentID":"msg_1f6486ffa001ZsVTkdvVQjRb0x","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/ada/app","root":"/ada/app"},"cost":0,"tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"scripted","time":{"created":1795133271694,"completed":1795133272111},"finish":"stop"}');
INSERT INTO message VALUES ('msg_1f648813a001TfSlD9B3P2CeuA', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133280122, 1795133309244, '{"role":"user","time":{"created":1795133280122},"agent":"build","model":{"providerID":"scripted","modelID":"scripted"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1f6488150001hUQExhV0Rueu4n', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133285213, 1795133309289, '{"parentID":"msg_1f648813a001TfSlD9B3P2CeuA","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/ada/app","root":"/ada/app"},"cost":0,"tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"scripted","time":{"created":1795133285213,"completed":1795133292142},"finish":"stop"}');
INSERT INTO message VALUES ('msg_1f64882ab001Fna1sOhxqPeGCq', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133309611, 1795133310227, '{"role":"user","time":{"created":1795133309611},"agent":"build","model":{"providerID":"scripted","modelID":"scripted"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_1f64882ef001Cvx9ehXGMvzNrt', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133309679, 1795133314114, '{"parentID":"msg_1f64882ab001Fna1sOhxqPeGCq","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/ada/app","root":"/ada/app"},"cost":0,"tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"scripted","providerID":"scripted","time":{"created":1795133309679,"completed":1795133314112},"finish":"stop"}');
INSERT INTO part VALUES ('prt_1f647cc84001vB59wMxWQFpb5t', 'msg_1f647cc66001XGGQdImngNeJrX', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133265898, 1795133265902, '{"type":"text","text":"\"Please remember that the staging database is on port 5433.\""}');
INSERT INTO part VALUES ('prt_1f647e993001r0Gsei2V6Cxbsp', 'msg_1f647d84b001lgChz428548IlO', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133270419, 1795133270423, '{"snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-start"}');
INSERT INTO part VALUES ('prt_1f647e99a001396rZhbG6c5F8D', 'msg_1f647d84b001lgChz428548IlO', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133270426, 1795133270573, '{"type":"tool","tool":"read","callID":"call_2","state":{"status":"completed","input":{"filePath":"/ada/app/notes.txt"},"output":"<path>/ada/app/notes.txt</path>\n<type>file</type>\n<content>\n1: The port of the harbour office is 7001.\n\n(End of file - total 1 lines)\n</content>","metadata":{"preview":"The port of the harbour office is 7001.","truncated":false,"loaded":[],"display":{"type":"file","path":"/ada/app/notes.txt","text":"The port of the harbour office is 7001.","lineStart":1,"lineEnd":1,"totalLines":1,"truncated":false}},"title":"notes.txt","time":{"start":1795133270451,"end":1795133270568}}}');
INSERT INTO part VALUES ('prt_1f647ea8b001qii76diny09goO', 'msg_1f647d84b001lgChz428548IlO', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133270667, 1795133270673, '{"reason":"tool-calls","snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-finish","tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1f647ec7d00110A2SK9vFztPDB', 'msg_1f647eb0c001p4CnP4ZCeyhnDO', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133271165, 1795133271167, '{"snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-start"}');
INSERT INTO part VALUES ('prt_1f647ec85001xWQpwk7bdouaNu', 'msg_1f647eb0c001p4CnP4ZCeyhnDO', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133271173, 1795133271270, '{"type":"tool","tool":"recollect_remember","callID":"call_3","state":{"status":"completed","input":{"text":"The staging database is on port 5433.","key":"staging.port"},"output":"Stored 20261120-0007-7e52dc in project, trust agent.","metadata":{"truncated":false},"title":"","time":{"start":1795133271190,"end":1795133271269}}}');
INSERT INTO part VALUES ('prt_1f647ee130013h6Fsob4XgLMgE', 'msg_1f647eb0c001p4CnP4ZCeyhnDO', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133271572, 1795133271574, '{"reason":"tool-calls","snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-finish","tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1f647ef9b001S0S6QN2NCm5qzt', 'msg_1f647ee8e001FSLIxsD7uAU0Nz', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133271963, 1795133271965, '{"snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-start"}');
INSERT INTO part VALUES ('prt_1f647ef9f001qBkXNSv8E5Lv6N', 'msg_1f647ee8e001FSLIxsD7uAU0Nz', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133271967, 1795133271975, '{"type":"text","text":"Noted, 5433.","time":{"start":1795133271967,"end":1795133271971}}');
INSERT INTO part VALUES ('prt_1f647efe5001bPkU4MHWVLo6sh', 'msg_1f647ee8e001FSLIxsD7uAU0Nz', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133272038, 1795133272039, '{"reason":"stop","snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-finish","tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1f6480f84001oC5V0SYf7CyoqY', 'msg_1f6480f7a001OJKGzFEzztZLO0', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133285160, 1795133285164, '{"type":"text","text":"\"My token is ghp_aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zAaB3d, the staging database knows it.\""}');
INSERT INTO part VALUES ('prt_1f6483d6b001ApV0MLFP3eeFWr', 'msg_1f648235d001Hk4MXZS5XqaV0Q', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133291884, 1795133291893, '{"snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-start"}');
INSERT INTO part VALUES ('prt_1f6483d81001XtGPAiJ5C7rlfJ', 'msg_1f648235d001Hk4MXZS5XqaV0Q', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133291905, 1795133291951, '{"type":"text","text":"Rotate it.","time":{"start":1795133291905,"end":1795133291949}}');
INSERT INTO part VALUES ('prt_1f6483e2d001dqoG6Q2pasC09k', 'msg_1f648235d001Hk4MXZS5XqaV0Q', 'ses_e09b83485ffedtgl4SKLvaRNB9', 1795133292077, 1795133292079, '{"reason":"stop","snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-finish","tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1f6488019001TZwquCO87WqA0t', 'msg_1f6486ffa001ZsVTkdvVQjRb0x', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133308954, 1795133308988, '{"type":"text","text":"\"Please remember that the staging database is on port 5433.\""}');
INSERT INTO part VALUES ('prt_1f6488051001JBR1HeaHHcMvtx', 'msg_1f6488040001819ITYFEVymZIF', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133309009, 1795133309011, '{"snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-start"}');
INSERT INTO part VALUES ('prt_1f64880580014lW2cwOPPqacma', 'msg_1f6488040001819ITYFEVymZIF', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133309017, 1795133309019, '{"type":"tool","tool":"read","callID":"call_2","state":{"status":"completed","input":{"filePath":"/ada/app/notes.txt"},"output":"<path>/ada/app/notes.txt</path>\n<type>file</type>\n<content>\n1: The port of the harbour office is 7001.\n\n(End of file - total 1 lines)\n</content>","metadata":{"preview":"The port of the harbour office is 7001.","truncated":false,"loaded":[],"display":{"type":"file","path":"/ada/app/notes.txt","text":"The port of the harbour office is 7001.","lineStart":1,"lineEnd":1,"totalLines":1,"truncated":false}},"title":"notes.txt","time":{"start":1795133270451,"end":1795133270568}}}');
INSERT INTO part VALUES ('prt_1f648805c001H2cVOcKudLToUr', 'msg_1f6488040001819ITYFEVymZIF', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133309029, 1795133309050, '{"reason":"tool-calls","snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-finish","tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1f648809e0016x0S1CR3siym2N', 'msg_1f6488087001ZKGjogWl9f4YtF', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133309087, 1795133309102, '{"snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-start"}');
INSERT INTO part VALUES ('prt_1f64880af001FxF83nnuLYMO6j', 'msg_1f6488087001ZKGjogWl9f4YtF', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133309103, 1795133309117, '{"type":"tool","tool":"recollect_remember","callID":"call_3","state":{"status":"completed","input":{"text":"The staging database is on port 5433.","key":"staging.port"},"output":"Stored 20261120-0007-7e52dc in project, trust agent.","metadata":{"truncated":false},"title":"","time":{"start":1795133271190,"end":1795133271269}}}');
INSERT INTO part VALUES ('prt_1f64880be001hq6LfJpY3djMIh', 'msg_1f6488087001ZKGjogWl9f4YtF', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133309118, 1795133309119, '{"reason":"tool-calls","snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-finish","tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1f64880d7001jtx56QwFe4oq17', 'msg_1f64880d5001473XIjoSh0POem', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133309143, 1795133309144, '{"snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-start"}');
INSERT INTO part VALUES ('prt_1f64880dd0011ClwoXn6vCkRU0', 'msg_1f64880d5001473XIjoSh0POem', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133309149, 1795133309150, '{"type":"text","text":"Noted, 5433.","time":{"start":1795133271967,"end":1795133271971}}');
INSERT INTO part VALUES ('prt_1f64880df0013dLgdDn8WIjwCD', 'msg_1f64880d5001473XIjoSh0POem', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133309151, 1795133309166, '{"reason":"stop","snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-finish","tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1f648814d001Sun46nNgHrr5WL', 'msg_1f648813a001TfSlD9B3P2CeuA', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133309261, 1795133309263, '{"type":"text","text":"\"My token is ghp_aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zAaB3d, the staging database knows it.\""}');
INSERT INTO part VALUES ('prt_1f648816a001WdBG18PdX2dh80', 'msg_1f6488150001hUQExhV0Rueu4n', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133309290, 1795133309291, '{"snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-start"}');
INSERT INTO part VALUES ('prt_1f64881780010FQ9J7O0r6gOwF', 'msg_1f6488150001hUQExhV0Rueu4n', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133309305, 1795133309306, '{"type":"text","text":"Rotate it.","time":{"start":1795133291905,"end":1795133291949}}');
INSERT INTO part VALUES ('prt_1f648817b001tsqSYiE3TewzWi', 'msg_1f6488150001hUQExhV0Rueu4n', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133309307, 1795133309350, '{"reason":"stop","snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-finish","tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_1f64882bf001EdHfpHqqd8l344', 'msg_1f64882ab001Fna1sOhxqPeGCq', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133309642, 1795133309643, '{"type":"text","text":"\"This is in the fork.\""}');
INSERT INTO part VALUES ('prt_1f64891c2001xaH6Ya23by7m5P', 'msg_1f64882ef001Cvx9ehXGMvzNrt', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133313474, 1795133313476, '{"snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-start"}');
INSERT INTO part VALUES ('prt_1f64891e5001ix2nNJK9TlOyAG', 'msg_1f64882ef001Cvx9ehXGMvzNrt', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133313510, 1795133313553, '{"type":"text","text":"Forked.","time":{"start":1795133313510,"end":1795133313528}}');
INSERT INTO part VALUES ('prt_1f64893a2001uxu13lkYxEnxJi', 'msg_1f64882ef001Cvx9ehXGMvzNrt', 'ses_e09b7904dffedIRGansl0AMrG5', 1795133313954, 1795133313969, '{"reason":"stop","snapshot":"dd51920135739a2e4a2773e3fca4077587f60455","type":"step-finish","tokens":{"total":15,"input":10,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
