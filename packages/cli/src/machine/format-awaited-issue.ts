import type { AwaitedIssue } from '@palisade/protocol'
import type { Style } from '../terminal/style.ts'

/** Describes the timestamp that a machine waits for, and when the server signs it. */
export function formatAwaitedIssue(
  { issued_after, signed_from }: AwaitedIssue,
  nowMs: number,
  style: Style,
): string {
  const why = 'the clock of this machine was ahead, so its policies look older than they are'
  const isSigned = Date.parse(signed_from) <= nowMs
  const when = isSigned ? 'at the next `palisade sync`' : `from ${signed_from} on`
  const end = `this ends with a timestamp after ${issued_after}, which the server signs ${when}`
  return style.warning(style.plain(`${why}: ${end}`))
}
