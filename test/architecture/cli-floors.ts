import type { Building } from './floors.ts'

/** The rooms of the command, from the words of a command line to the text on the terminal. */
export const CLI: Building = {
  root: 'packages/cli/src/',
  floors: [
    ['main.ts', 'index.ts'],
    ['run.ts'],
    // The commands by name, and the help of all.
    ['commands.ts', 'program.ts'],
    [
      // The server's objects, by noun.
      'administration/access',
      'administration/audit',
      'administration/devices',
      'administration/members',
      'administration/organization',
      'administration/policies',
      'administration/teams',
      'administration/webhooks',
      // Plan, apply and export.
      'policy-source',
      'suggest',
      'doctor',
      // Answers to sandboxes of other makers.
      'decider',
    ],
    [
      'administration/rollouts',
      'administration/tokens',
      'machine',
      // Tool calls of coding agents.
      'hook',
      'proxied-programs',
      'sandbox',
    ],
    ['check'],
    // `lookup` finds objects of the server by name; `agent` reaches the agent of this machine.
    ['account', 'lookup', 'agent', 'policy-file'],
    // Values of options, such as a duration.
    ['options'],
    // Input and output of a run, its errors, and programs that it starts.
    ['runtime'],
    // Text for people and shells.
    ['terminal'],
  ],
}
