import type { RejectionLimit, RolloutStage } from '@palisade/protocol'
import { usageError } from '../../runtime/cli-error.ts'

/**
 * Parses a label, or a share such as `10%`. Throws a usage error, like all parsers of this file.
 */
export function parseStage(written: string): RolloutStage {
  return written.endsWith('%') ? { percent: parsePercent(written, '--stage') } : { label: written }
}

/** Parses a number of machines, or a share of them. */
export function parseLimit(written: string): RejectionLimit {
  return written.endsWith('%')
    ? { percent: parsePercent(written, '--max-rejected') }
    : { machines: parseWhole(written, '--max-rejected') }
}

function parsePercent(written: string, option: string): number {
  const percent = parseWhole(written.slice(0, -1), option)
  const least = option === '--stage' ? 1 : 0
  if (percent >= least && percent <= 100) return percent
  throw usageError(`\`${option}\` must be ${least}% to 100%, not \`${written}\``)
}

/** Parses a whole number of at most seven digits. */
export function parseWhole(written: string, option: string): number {
  if (!/^\d{1,7}$/.test(written))
    throw usageError(`\`${option}\` must be a whole number, with \`%\` for a share`)
  return Number(written)
}
