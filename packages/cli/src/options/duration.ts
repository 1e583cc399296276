import { usageError } from '../runtime/cli-error.ts'

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const

/**
 * Parses a duration such as `90s`, `30m`, `4h` or `1d` into seconds from `least` to `most`. Throws
 * exit 2 with the option's name.
 */
export function parseDuration(
  text: string,
  option: string,
  { least, most }: { readonly least: number; readonly most: number },
): number {
  const [, count = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  const seconds = unit === '' ? 0 : Number(count) * SECONDS[unit as keyof typeof SECONDS]
  if (seconds >= least && seconds <= most) return seconds
  throw usageError(
    `\`${option}\` must be ${formatDuration(least)} to ${formatDuration(most)}, ` +
      'such as `30m` or `4h`',
  )
}

/** Like `parseDuration`; a number without a unit means seconds. */
export function parseSeconds(
  text: string,
  option: string,
  limits: { readonly least: number; readonly most: number },
): number {
  return parseDuration(/^\d{1,9}$/.test(text) ? `${text}s` : text, option, limits)
}

/** Formats in the largest unit that divides the duration evenly. */
export function formatDuration(seconds: number): string {
  const units = Object.entries(SECONDS).toReversed()
  const [name, size] = units.find(([, each]) => seconds >= each && seconds % each === 0) ?? ['s', 1]
  return `${seconds / size}${name}`
}
