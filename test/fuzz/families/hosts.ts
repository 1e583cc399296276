import type { Random } from '../../../bench/src/workload/random.ts'
import { connectRules, drawMany, type Family } from '../family.ts'
import { respellHost } from '../spellings.ts'

const STARS = ['', '', '*.', '**.'] as const
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789-_'

/**
 * Names with shared suffixes: a tree of two labels whose nodes are exact, `*.` or `**.`, some with
 * a port.
 */
const sharedSuffixes: Family = {
  name: 'shared suffixes',
  maxResources: 50_000,
  draw(random, count) {
    const depth = 4 + Math.ceil(Math.log2(count))
    const name = (): string => labels(random, 1 + random.integer(depth), 'ab')
    const pattern = (): string =>
      `${random.pick(STARS)}${name()}.example${random.pick(['', '', '', ':443', ':80'])}`
    return {
      rules: connectRules(random, drawMany(count, pattern)),
      ask: () => connect(random, `${name()}.example`),
    }
  },
}

/** Suffixes of names of maximal length, with labels of one letter. */
const longestNames: Family = {
  name: 'longest names',
  maxResources: 2000,
  draw(random, count) {
    const pattern = (): string =>
      random.pick(STARS) + labels(random, 1 + random.integer(124), 'aaab')
    return {
      rules: connectRules(random, drawMany(count, pattern)),
      ask: () => connect(random, labels(random, 120 + random.integer(8), 'aaab')),
    }
  },
}

/** Many ports of a few names, at all depths. */
const manyPorts: Family = {
  name: 'many ports',
  maxResources: 50_000,
  draw(random, count) {
    const names = ['example.com', 'a.example.com', 'com', 'b.a.example.com'] as const
    const span = Math.min(65_535, Math.max(4, count))
    const pattern = (): string =>
      `${random.pick(STARS)}${random.pick(names)}:${1 + random.integer(span)}`
    return {
      rules: connectRules(random, [
        ...drawMany(count - 1, pattern),
        `${random.pick(STARS)}example.com`,
      ]),
      ask: () =>
        connect(random, random.pick(['', 'a.', 'x.', 'b.a.']) + random.pick(names), {
          port: 1 + random.integer(span),
        }),
    }
  },
}

/**
 * Names of one length that agree at the positions which a sampling hash would read: the ends, the
 * quarters and the middle. Only a comparison of the complete names distinguishes them.
 */
const collidingSamples: Family = {
  name: 'colliding samples',
  maxResources: 50_000,
  draw(random, count) {
    const length = 20 + random.integer(40)
    const quarter = length >> 2
    const half = length >> 1
    const sampled = new Set([0, 1, quarter, half - 1, half, half + 1, length - quarter])
    const name = (): string =>
      drawMany(length, (at) =>
        sampled.has(at) || at === length - 1 ? 'm' : LETTERS[random.integer(36)],
      ).join('')
    const names = drawMany(count, name)
    return {
      rules: connectRules(
        random,
        names.map((each) => `${random.pick(STARS)}${each}.test`),
      ),
      ask: () => {
        const other = random.next() < 0.5 ? random.pick(names) : name()
        return connect(random, `${random.pick(['', '', 'x.', 'x.y.'])}${other}.test`)
      },
    }
  },
}

/** The same few patterns repeated under different ids, several in one rule. */
const duplicates: Family = {
  name: 'duplicates',
  maxResources: 5000,
  draw(random, count) {
    const few = [
      'a.example',
      '*.a.example',
      '**.example',
      'A.Example.',
      'a.example:443',
      '10.0.0.1',
    ]
    const rules = connectRules(
      random,
      drawMany(Math.ceil(count / 3), () => 'a.example'),
    )
    return {
      rules: rules.map((rule) => ({ ...rule, resources: drawMany(3, () => random.pick(few)) })),
      ask: () =>
        connect(random, random.pick(['a.example', 'b.a.example', 'x.example', '10.0.0.1'])),
    }
  },
}

/** Labels of every kind: digits, hyphens, underscores, A-labels, one letter and 63 letters. */
const oddLabels: Family = {
  name: 'odd labels',
  maxResources: 20_000,
  draw(random, count) {
    const odd = ['xn--tda', 'xn--mgbaal8b0b9b2b', '-', '_', '--', '1', '0x1', 'l'.repeat(63)]
    const label = (): string =>
      random.next() < 0.4
        ? random.pick(odd)
        : drawMany(1 + random.integer(4), () => LETTERS[random.integer(38)]).join('')
    const name = (): string =>
      [...drawMany(random.integer(3), label), random.pick(['com', 'xn--p1ai', 'c_m'])].join('.')
    return {
      rules: connectRules(
        random,
        drawMany(count, () => random.pick(STARS) + name()),
      ),
      ask: () => connect(random, `${random.pick(['', `${label()}.`])}${name()}`),
    }
  },
}

export const HOST_FAMILIES: readonly Family[] = [
  sharedSuffixes,
  longestNames,
  manyPorts,
  collidingSamples,
  duplicates,
  oddLabels,
]

/** A connect request for a name, sometimes in another spelling, sometimes with an address. */
export function connect(random: Random, host: string, more: object = {}): object {
  const action = random.pick(['connect:tcp', 'connect:tcp', 'connect:udp'])
  const spelt = random.next() < 0.35 ? respellHost(random, host) : host
  const address =
    random.next() < 0.2 ? { address: random.pick(['10.0.0.1', '127.0.0.1', '2001:db8::1']) } : {}
  return { action, host: spelt, port: random.pick([443, 80, 8080]), ...address, ...more }
}

function labels(random: Random, count: number, letters: string): string {
  return drawMany(count, () => letters[random.integer(letters.length)]).join('.')
}
