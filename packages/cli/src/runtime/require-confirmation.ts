import { printable } from '../terminal/printable.ts'
import { CliError, usageError } from './cli-error.ts'
import { EXIT } from './exit-code.ts'
import type { RunContext } from './run-context.ts'

/**
 * Asks before an irreversible operation. Throws exit 2 without a terminal and `--yes`, exit 1 if
 * the answer is no.
 */
export async function requireConfirmation(
  { io }: RunContext,
  yes: boolean | undefined,
  ask: { readonly question: string; readonly undone: string },
): Promise<void> {
  if (yes === true) return
  if (io.prompts === null) throw usageError('not a terminal; add `--yes` to skip the question')
  if ((await io.prompts.confirm(printable(ask.question))) !== true)
    throw new CliError('ERR_CANCELLED', EXIT.failed, ask.undone)
}
