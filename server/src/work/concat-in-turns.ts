import type { Work } from './work-budget.ts'

/** Copied between two turns: one or two milliseconds, most of it for new pages of memory. */
const BYTES_A_TURN = 256 * 1024

/**
 * Concatenates as `Buffer.concat` does, which takes 70 ms at once for 16 MiB (bench:
 * server/hostile).
 */
export async function concatInTurns(
  texts: readonly Buffer[],
  work: Pick<Work, 'turn'>,
): Promise<Buffer> {
  const whole = Buffer.allocUnsafe(texts.reduce((sum, { length }) => sum + length, 0))
  let written = 0
  let sinceTurn = 0
  for (const text of texts) {
    written += text.copy(whole, written)
    sinceTurn += text.length
    if (sinceTurn < BYTES_A_TURN) continue
    sinceTurn = 0
    await work.turn()
  }
  return whole
}
