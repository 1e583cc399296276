import { ACTIONS, isNetworkAction, type SelfTestVector } from '@palisade/policy-core'
import { z } from 'zod'

/**
 * `self_test` of a policy for machines: requests with the rules that match them, one per line.
 * Lines are fast to read, because a starting machine reads hundreds of them before its first
 * decision.
 *
 * ```
 * +0,3 -1 connect:tcp 443 api.example.com
 * + -0,1 connect:tcp 443 example.com 192.0.2.1
 * +2 - read ~/work/other file
 * ```
 *
 * `+` and `-` precede indices into `allowlist_v0.rules`, from 0: `+` lists rules that match on
 * every machine and beside any other policies, `-` lists rules that never match. Other rules are
 * left out. Then follow action, port, host and optionally an address of the host, or action and
 * path, which may begin with `~` as in rules. A line that does not begin with `+`, or has another
 * action, is for later versions.
 */
export const selfTestSchema = z.array(z.string().max(1024)).max(64)

const LINE = /^\+([0-9,]*) -([0-9,]*) (\S+) (.+)$/su
const MAX_INDICES = 64
const MAX_DIGITS = 5
const DIGIT_ZERO = 0x30
const TARGET = /^([1-9][0-9]{0,4}) (\S{1,253})(?: (\S{1,64}))?$/u
const MAX_PATH = 512

export function formatSelfTest(vectors: readonly SelfTestVector[]): readonly string[] {
  return vectors.map((vector) => {
    const { action, match, miss } = vector
    const asked =
      vector.kind === 'path'
        ? vector.path
        : [
            vector.port,
            vector.host,
            ...(vector.address === undefined ? [] : [vector.address]),
          ].join(' ')
    return `+${match.join()} -${miss.join()} ${action} ${asked}`
  })
}

/**
 * The vectors of the lines that this version knows; null for a value that is no self-test. Skipping
 * unknown lines is safe: unlike a rule, a test changes no decision.
 */
export function readSelfTest(value: unknown): readonly SelfTestVector[] | null {
  const lines = selfTestSchema.safeParse(value)
  if (!lines.success) return null
  const vectors: SelfTestVector[] = []
  for (const line of lines.data) {
    const vector = line.startsWith('+') ? readLine(line) : 'later'
    if (vector === null) return null
    if (vector !== 'later') vectors.push(vector)
  }
  return vectors
}

function readLine(line: string): SelfTestVector | 'later' | null {
  const [, matching = ',', missing = ',', written, asked = ''] = LINE.exec(line) ?? []
  const [match, miss] = [readIndices(matching), readIndices(missing)]
  if (match === null || miss === null) return null
  const action = ACTIONS.find((each) => each === written)
  if (action === undefined) return 'later'
  if (isNetworkAction(action)) {
    const target = readTarget(asked)
    return target && { kind: 'connect', action, ...target, match, miss }
  }
  return asked.length > MAX_PATH ? null : { kind: 'path', action, path: asked, match, miss }
}

function readTarget(asked: string) {
  const [, port, host, address] = TARGET.exec(asked) ?? []
  if (host === undefined) return null
  return { host, port: Number(port), ...(address === undefined ? {} : { address }) }
}

/**
 * Parsed by hand, because a machine reads a dozen indices in each of hundreds of lines before a
 * change is in force.
 */
function readIndices(text: string): readonly number[] | null {
  const indices: number[] = []
  for (let at = 0; at < text.length; at += 1) {
    const first = at
    let index = 0
    for (let digit = digitAt(text, at); digit >= 0; digit = digitAt(text, at)) {
      index = index * 10 + digit
      at += 1
    }
    const isEnd = at === text.length
    if (at === first || at - first > MAX_DIGITS || indices.length === MAX_INDICES) return null
    if (!isEnd && (text[at] !== ',' || at + 1 === text.length)) return null
    indices.push(index)
  }
  return indices
}

/** Returns -1 for other characters and past the end. */
function digitAt(text: string, at: number): number {
  const digit = text.charCodeAt(at) - DIGIT_ZERO
  return digit >= 0 && digit <= 9 ? digit : -1
}
