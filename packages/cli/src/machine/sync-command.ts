import type { SyncResult } from '@palisade/protocol'
import type { Command } from 'commander'
import { EXIT } from '../exit-code.ts'
import { present, type RunContext } from '../run-context.ts'
import type { Style } from '../terminal/style.ts'
import { tellWaiting } from '../terminal/waiting.ts'
import { askAgent } from './agent.ts'
import { formatAwaitedIssue } from './format-awaited-issue.ts'

/** `palisade sync` */
export function addSyncCommand(program: Command, context: RunContext): void {
  program
    .command('sync')
    .summary('fetch policies now')
    .description('Let the agent of this machine fetch its policies now, and wait for the outcome.')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Exit codes: 0 updated or unchanged, 1 failed (the last good policies stay in force)

Examples:
  palisade sync
  palisade sync --json`,
    )
    .action(async (options: { readonly json?: true }) => {
      const { io, style } = context
      const result = await tellWaiting(io, 'waiting for the server …', () =>
        askAgent(io, EXIT.failed, (agent) => agent.sync()),
      )
      context.exit(result.outcome === 'failed' ? EXIT.failed : EXIT.ok)
      await present(context, options.json, result, () => {
        const { awaiting } = result
        const waiting =
          awaiting === undefined
            ? ''
            : `waiting  ${formatAwaitedIssue(awaiting, io.now(), style)}\n`
        return `${formatSyncResult(result, style)}${waiting}`
      })
    })
}

/** What an attempt to bring policy into force came to, for people. */
export function formatSyncResult(result: SyncResult, style: Style): string {
  const revision = result.revision === null ? 'no policies' : `revision ${result.revision}`
  switch (result.outcome) {
    case 'updated':
      return `${style.good('updated')}  ${revision} is in force\n`
    case 'unchanged':
      return `${style.good('unchanged')}  ${revision} is in force\n`
    case 'failed': {
      const error = result.error
      const why = error === null ? 'no reason given' : `${error.message} (${error.code})`
      const kept = result.revision === null ? 'everything is denied' : `${revision} stays in force`
      return `${style.bad('failed')}  ${style.plain(why)}; ${kept}\n`
    }
  }
}
