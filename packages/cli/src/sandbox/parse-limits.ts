import type { SandboxLimits } from '@palisade/protocol'

type Member = keyof SandboxLimits

/** The limits by the names that people write. */
const LIMITS: ReadonlyMap<string, { readonly member: Member; readonly unit: 'count' | 'bytes' }> =
  new Map([
    ['processes', { member: 'processes', unit: 'count' }],
    ['memory', { member: 'memory_bytes', unit: 'bytes' }],
    ['process-memory', { member: 'process_memory_bytes', unit: 'bytes' }],
    ['tmp', { member: 'tmp_bytes', unit: 'bytes' }],
    ['files', { member: 'files', unit: 'count' }],
  ])
export const LIMIT_NAMES: readonly string[] = [...LIMITS.keys()]

const FACTORS: Readonly<Record<string, number>> = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 }

export type LimitsOutcome =
  | { readonly kind: 'read'; readonly limits: SandboxLimits }
  /** One line for each fault. */
  | { readonly kind: 'invalid'; readonly problems: readonly string[] }

/** Reads texts such as `processes=200,memory=2G`. Sizes are powers of 1,024. */
export function parseLimits(texts: readonly string[]): LimitsOutcome {
  const words = texts.flatMap((text) => text.split(','))
  return readLimits(words.map((word) => splitAt(word)))
}

/** Reads pairs of a name and a value. */
export function readLimits(pairs: readonly (readonly [string, string])[]): LimitsOutcome {
  const limits: Partial<Record<Member, number>> = {}
  const problems: string[] = []
  for (const [name, text] of pairs) {
    const limit = LIMITS.get(name)
    const value = limit === undefined ? null : readValue(text, limit.unit)
    if (limit === undefined)
      problems.push(`\`${name}\` is no limit; write one of ${LIMIT_NAMES.join(', ')}`)
    else if (value === null) problems.push(`the limit \`${name}\` ${EXPECTED[limit.unit]}`)
    else if (limits[limit.member] !== undefined)
      problems.push(`the limit \`${name}\` is given twice; leave one out`)
    else limits[limit.member] = value
  }
  return problems.length > 0 ? { kind: 'invalid', problems } : { kind: 'read', limits }
}

const EXPECTED = {
  count: 'must be a whole number above 0, such as `200`',
  bytes: 'must be a size of at least 1M, such as `512M` or `2G`',
} as const
const LEAST_BYTES = 2 ** 20

/** Returns null for anything else than a number that the agent takes. */
function readValue(text: string, unit: 'count' | 'bytes'): number | null {
  const [, digits = '', letter = ''] = /^(\d{1,15})([KMG])?(?:iB)?$/i.exec(text) ?? []
  if (digits === '' || (unit === 'count' && digits !== text)) return null
  const value = Number(digits) * (FACTORS[letter.toUpperCase()] ?? 1)
  const least = unit === 'bytes' ? LEAST_BYTES : 1
  return Number.isSafeInteger(value) && value >= least ? value : null
}

function splitAt(word: string): readonly [string, string] {
  const at = word.indexOf('=')
  return at < 0 ? [word, ''] : [word.slice(0, at), word.slice(at + 1)]
}
