import { compilePolicy, decide } from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findPath, type FoundPath } from '../../../packages/policy-core/src/language/find-path.ts'
import { globMatches, readGlobPath } from '../../../packages/policy-core/src/path/glob.ts'
import { pathPatterns, paths } from '../arbitraries/path.ts'
import { pathChoice, pathFrom } from '../arbitraries/path-request.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../every-case.ts'
import { policy, rule } from '../policies.ts'
import { matchesPath, readPath, readPathPattern } from '../reference/path.ts'
import { placed } from './placed.ts'

const HOME = '/a'

interface Asked {
  readonly inAll: readonly string[]
  readonly inNone: readonly string[]
  readonly caseSensitive: boolean
}

function questions(pattern: fc.Arbitrary<string>): fc.Arbitrary<Asked> {
  return fc.record({
    inAll: fc.array(pattern, { maxLength: 2 }),
    inNone: fc.array(pattern, { maxLength: 2 }),
    caseSensitive: fc.boolean(),
  })
}

function ask({ inAll, inNone, caseSensitive }: Asked): FoundPath {
  const read = (text: string) => placed(text, caseSensitive)
  return findPath({ inAll: inAll.map(read), inNone: inNone.map(read) })
}

/** Whether a policy that only allows the pattern allows the path. */
function isAllowed(pattern: string, path: string, caseSensitive: boolean): boolean {
  const set = { home: HOME, policies: [policy('p', rule('r', 'allow', ['read'], pattern))] }
  return (
    decide(compilePolicy(set, { caseSensitive }), { action: 'read', path }).decision === 'allow'
  )
}

describe('findPath', () => {
  it('finds a path that the evaluator confirms', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase({ runs: 6000 }, questions(pathPatterns()), (asked, tally) => {
      const found = ask(asked)

      tally(found.kind)
      if (found.kind !== 'found') return
      const { caseSensitive } = asked
      const read = readGlobPath(found.path, caseSensitive)
      const glob = (text: string) => globMatches(placed(text, caseSensitive), read)
      const allows = (text: string) => isAllowed(text, found.path, caseSensitive)
      expect(asked.inAll.map(glob)).toEqual(asked.inAll.map(() => true))
      expect(asked.inAll.map(allows)).toEqual(asked.inAll.map(() => true))
      expect(asked.inNone.map(glob)).toEqual(asked.inNone.map(() => false))
      expect(asked.inNone.map(allows)).toEqual(asked.inNone.map(() => false))
    })

    expect(outcomes.rarerThan({ found: 0.2, none: 0.05 })).toEqual([])
  })

  it('answers none only when no path exists', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 3000, casesPerRun: 30 },
      fc.tuple(
        questions(pathPatterns()),
        fc.array(paths(), { minLength: 15, maxLength: 15 }),
        fc.array(pathChoice(), { minLength: 15, maxLength: 15 }),
      ),
      ([asked, anywhere, choices], tally) => {
        const near = choices.map((choice, index) =>
          pathFrom(asked.inAll[index % asked.inAll.length] ?? '/**', HOME, choice),
        )
        const candidates = [...anywhere, ...near].map(readPath).filter((path) => path !== null)
        const meaning = { home: ['a'], caseSensitive: asked.caseSensitive }
        const matches = (text: string, path: readonly string[]) => {
          const pattern = readPathPattern(text)
          return pattern !== null && matchesPath(pattern, path, meaning)
        }

        const isNone = ask(asked).kind === 'none'

        const answers = candidates.filter(
          (path) =>
            asked.inAll.every((text) => matches(text, path)) &&
            !asked.inNone.some((text) => matches(text, path)),
        )
        expect(isNone ? answers : []).toEqual([])
        tally(isNone ? 'none' : answers.length > 0 ? 'found' : 'missed by all')
      },
    )

    expect(outcomes.rarerThan({ none: 0.05, found: 0.15 })).toEqual([])
  })

  it('finds a shortest path in a small universe', { timeout: LAW_TIMEOUT_MS }, () => {
    const part = fc.constantFrom('a', 'b', 'ab', '*', 'a*', '*b', '*a*', '**', '**', '.*')
    const pattern = fc
      .array(part, { minLength: 1, maxLength: 4 })
      .map((parts) => `/${parts.join('/')}`)
    const universe = smallUniverse()
    const inside = new Set(universe)
    const matchedBy = createReference(universe)
    const outcomes = everyCase(
      { runs: 1500, casesPerRun: universe.length },
      questions(pattern),
      ({ inAll, inNone }, tally) => {
        const found = ask({ inAll, inNone, caseSensitive: true })

        const [shortest] = universe.filter(
          (path) =>
            inAll.every((text) => matchedBy(text).has(path)) &&
            !inNone.some((text) => matchedBy(text).has(path)),
        )
        const least = shortest?.length ?? Infinity
        const length = found.kind === 'found' ? found.path.length : Infinity
        const isInside = found.kind === 'found' && inside.has(found.path)
        expect(length).toBeLessThanOrEqual(least)
        expect(isInside ? length : least).toBe(least)
        tally(found.kind === 'none' ? 'none' : shortest === undefined ? 'outside' : 'found')
      },
    )

    expect(outcomes.rarerThan({ none: 0.05, found: 0.3 })).toEqual([])
  })
})

/** Every path of up to four short names, shortest first. */
function smallUniverse(): readonly string[] {
  const names = ['a', 'b', 'x', 'ab', 'xb', '.x']
  const levels = [['']]
  for (let depth = 0; depth < 4; depth += 1)
    levels.push((levels.at(-1) ?? []).flatMap((path) => names.map((name) => `${path}/${name}`)))
  return levels
    .flat()
    .map((path) => path || '/')
    .toSorted((a, b) => a.length - b.length)
}

/** The paths of the universe that match by the reference, cached because few patterns recur. */
function createReference(universe: readonly string[]): (text: string) => ReadonlySet<string> {
  const remembered = new Map<string, ReadonlySet<string>>()
  const meaning = { home: null, caseSensitive: true }
  const paths = universe.map((path) => ({ path, segments: readPath(path) ?? [] }))
  return (text) => {
    const known = remembered.get(text)
    if (known !== undefined) return known
    const pattern = readPathPattern(text)
    const matched = paths.filter(
      ({ segments }) => pattern !== null && matchesPath(pattern, segments, meaning),
    )
    const names = new Set(matched.map(({ path }) => path))
    remembered.set(text, names)
    return names
  }
}
