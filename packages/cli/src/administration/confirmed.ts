import { CliError, usageError } from '../cli-error.ts'
import { EXIT } from '../exit-code.ts'
import type { RunContext } from '../run-context.ts'
import { printable } from '../terminal/printable.ts'

/**
 * Asks before something that cannot be taken back. Throws exit 2 when nobody can be asked and
 * `--yes` was not written, exit 1 when the answer is no.
 */
export async function confirmed(
  { io }: RunContext,
  yes: boolean | undefined,
  ask: { readonly question: string; readonly undone: string },
): Promise<void> {
  if (yes === true) return
  if (io.prompts === null) throw usageError('not a terminal; add `--yes` to skip the question')
  if ((await io.prompts.confirm(printable(ask.question))) !== true)
    throw new CliError('ERR_CANCELLED', EXIT.failed, ask.undone)
}
