import { createStagedClient } from '@palisade/client'
import type { StagedResult } from '@palisade/protocol'
import { reachAgent } from '../agent/reach-agent.ts'
import { CliError } from '../runtime/cli-error.ts'
import type { RunContext } from '../runtime/run-context.ts'
import { write } from '../runtime/write.ts'
import { printable } from '../terminal/printable.ts'
import { quoteShell } from '../terminal/quote-shell.ts'
import { formatChanges, formatOutcome } from './format-staged.ts'

/** The changes of the command could not be copied out. */
const EXIT_NOT_COPIED = 125

export interface StagedReview {
  readonly id: string
  /** The exit code of the command. */
  readonly status: number
  /** Copies out without a question. */
  readonly apply: boolean
}

/**
 * Shows the changes of a strict sandbox after its command, on stderr, because stdout is the
 * command's. Resolves with the exit code: that of the command, or 125 if a change that policy
 * grants was not copied out. Rejects with `CliError`.
 */
export async function reviewStaged(review: StagedReview, context: RunContext): Promise<number> {
  const { id, status } = review
  const { io, style } = context
  const say = (text: string): Promise<unknown> => write(io.stderr, text)
  const ask = askStaged(context, EXIT_NOT_COPIED)
  const shown = await ask('show', id).catch((error: unknown) => {
    // The agent keeps no session without changes.
    if (error instanceof NotKept) return null
    throw error
  })
  if (shown === null) return status
  if (Object.values(shown.counts).every((each) => each === 0)) {
    await ask('discard', id)
    return status
  }
  const choice = review.apply ? 'apply' : await choose(shown, review, context)
  if (choice === 'apply') {
    const applied = await ask('apply', id)
    await say(`${formatChanges(applied, style)}${formatOutcome(applied)}`)
    return applied.counts.conflict + applied.counts.failed > 0 ? EXIT_NOT_COPIED : status
  }
  if (choice === 'discard') await say(formatOutcome(await ask('discard', id)))
  else
    await say(
      `the changes are kept until ${shown.session?.expires_at ?? 'they expire'}; ` +
        `\`palisade staged apply ${id}\` copies them out, \`palisade staged discard ${id}\` ` +
        'drops them\n',
    )
  return status
}

/** Shows the changes, and asks at a terminal. */
async function choose(
  shown: StagedResult,
  { id }: StagedReview,
  { io, style }: RunContext,
): Promise<'apply' | 'discard' | 'keep'> {
  await write(io.stderr, formatChanges(shown, style))
  if (io.prompts === null) return 'keep'
  const { allowed } = shown.counts
  for (;;) {
    const answer = await io.prompts.text(
      `${allowed} granted: apply, diff, discard or keep?`,
      allowed > 0 ? 'apply' : 'keep',
    )
    const word = answer?.trim() ?? 'keep'
    if (word === 'apply' || word === 'discard' || word === 'keep') return word
    if (word === 'diff') await write(io.stderr, describeDirectories(shown, id))
  }
}

/** The person's own tool compares the directories, which hold the changed files alone. */
function describeDirectories({ session }: StagedResult, id: string): string {
  const lines = (session?.workspaces ?? []).map((path, index) => {
    const compared = [path, session?.directories[index] ?? id].map(quoteShell)
    return `${printable(`diff -r ${compared.join(' ')}`)}\n`
  })
  return lines.join('')
}

/** The agent has no changes of that id. */
class NotKept extends CliError {}

/** Asks the agent about one session. Rejects with `CliError` with this exit code. */
export function askStaged(
  { io }: Pick<RunContext, 'io'>,
  exitCode: number,
): (method: 'show' | 'apply' | 'discard', id: string) => Promise<StagedResult> {
  return async (method, id) => {
    const result = await reachAgent(io, exitCode, (agent) => createStagedClient(agent)[method](id))
    const { error } = result
    if (error === null) return result
    const kind = error.code === 'not_found' ? NotKept : CliError
    throw new kind('ERR_AGENT', exitCode, error.message)
  }
}
