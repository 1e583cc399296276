import type { InForce, SyncResult } from '@palisade/protocol'
import type { Command } from 'commander'
import { askAgent } from '../agent/ask-agent.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import { tellWaiting } from '../runtime/waiting.ts'
import type { Style } from '../terminal/style.ts'
import { formatAwaitedIssue } from './format-awaited-issue.ts'

const EVERYTHING = 'everything is denied'

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
Exit codes: 0 updated or unchanged, 1 failed (the last good policies stay in force),
            or everything is denied

Examples:
  palisade sync
  palisade sync --json`,
    )
    .action(async (options: { readonly json?: true }) => {
      const { io, style } = context
      const result = await tellWaiting(io, 'waiting for the server …', () =>
        askAgent(io, EXIT.failed, (agent) => agent.sync()),
      )
      context.exit(exitCodeOfSync(result))
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

/** Returns 1 also while everything is denied, even after a successful attempt. */
export function exitCodeOfSync({ outcome, in_force }: SyncResult): number {
  return outcome === 'failed' || in_force?.revision === null ? EXIT.failed : EXIT.ok
}

/** Formats the outcome of an attempt, and the policy in force. */
export function formatSyncResult(result: SyncResult, style: Style): string {
  const { outcome, error } = result
  if (outcome !== 'failed') return `${style.good(outcome)}  ${describeTaken(result)}\n`
  const why = error === null ? 'no reason given' : `${error.message} (${error.code})`
  return `${style.bad('failed')}  ${style.plain(why)}; ${describeKept(result)}\n`
}

function describeTaken({ revision, in_force }: SyncResult): string {
  const taken = revision === null ? 'no policies' : `revision ${revision}`
  if (in_force?.revision === null) return `${taken} is verified, but ${describeDenied(in_force)}`
  return in_force?.state === 'expired' ? describeExpired(taken) : `${taken} is in force`
}

function describeKept({ revision, in_force }: SyncResult): string {
  // Agents without `in_force` report the revision only.
  const kept = in_force === undefined ? revision : in_force.revision
  if (kept === null) return in_force === undefined ? EVERYTHING : describeDenied(in_force)
  return in_force?.state === 'expired'
    ? describeExpired(`revision ${kept}`)
    : `revision ${kept} stays in force`
}

function describeDenied({ state }: InForce): string {
  return state === 'conflict'
    ? `two organizations claim this machine: ${EVERYTHING}; \`palisade status\` names their files`
    : EVERYTHING
}

function describeExpired(revision: string): string {
  return `${revision} has expired: only offline hosts are allowed`
}
