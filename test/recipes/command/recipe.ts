import type { Recipe } from '../recipe.ts'

/** `palisade socket` prints where the agent of this machine listens. */
export const COMMAND: Recipe = {
  name: 'command',
  edits: [
    {
      file: 'packages/cli/src/commands.ts',
      after: "    log: async () => (await import('./machine/log-command.ts')).addLogCommand,",
      add: "    socket: async () => (await import('./machine/socket-command.ts')).addSocketCommand,",
    },
  ],
  tests: [
    'test/cli/machine/socket-command.test.ts',
    'test/cli/commands.test.ts',
    'test/cli/examples.test.ts',
  ],
}
