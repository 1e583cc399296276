import { readFileSync } from 'node:fs'
import {
  checkRule,
  compilePolicy,
  decide,
  effectivePolicies,
  type Action,
} from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { readCorpus, readRejectedPatterns } from '../policy-core/corpus/corpus-case.ts'
import { packageFolder, readManifest } from './package-files.ts'
import { brokenPromises, withRelease, type Release } from './releases.ts'
import { formatVectors, makeVectors, type DecisionVector, type Vectors } from './vectors.ts'

const FILE = `${packageFolder('policy-core')}vectors/decisions.json`
const RELEASES = `${packageFolder('policy-core')}vectors/releases.json`

const text = formatVectors(makeVectors(readManifest('policy-core').version))
const vectors = JSON.parse(text) as Vectors
const releases = JSON.parse(readFileSync(RELEASES, 'utf8')) as Release[]

describe('the vector file', () => {
  it('holds the corpus, with the version of the package', async () => {
    await expect(text).toMatchFileSnapshot(FILE)
  })

  it('leaves out only ill-formed strings', () => {
    const cases = [...readCorpus().values()].flat().length + readRejectedPatterns().length

    const leftOut = cases - vectors.decisions.length - vectors.rejected.length

    expect(leftOut).toBe(4)
    expect(JSON.stringify(vectors).isWellFormed()).toBe(true)
  })

  it('is ASCII with the meaning of the corpus', () => {
    expect(text).toMatch(/^[\n\x20-\x7e]*$/)
    expect(vectors).toEqual(makeVectors(readManifest('policy-core').version))
  })

  it('gives every vector a unique id', () => {
    const ids = [...vectors.decisions, ...vectors.rejected].map(({ id }) => id)

    expect(new Set(ids).size).toBe(ids.length)
  })

  it('has the decisions of `decide`', () => {
    const answers = vectors.decisions.map((vector) => {
      const { hint: _, ...decision } = decide(compiled(vector), vector.request, {
        now: vector.now === undefined ? undefined : Date.parse(vector.now),
      })
      return { id: vector.id, decision }
    })

    const expected = vectors.decisions.map(({ id, expected }) => ({ id, decision: expected }))
    expect(answers).toStrictEqual(expected)
  })

  it('has only resources that `checkRule` rejects', () => {
    const accepted = vectors.rejected.filter(
      ({ action, resource }) =>
        checkRule({ actions: [action as Action], decision: 'allow', resources: [resource] })
          .length === 0,
    )

    expect(accepted).toEqual([])
  })
})

describe('the releases', () => {
  it('keep their promises', () => {
    expect(brokenPromises(releases, vectors)).toEqual([])
  })

  it('include the version of the package', async () => {
    const made = `${JSON.stringify(withRelease(releases, vectors), null, 2)}\n`

    await expect(made).toMatchFileSnapshot(RELEASES)
  })
})

describe('brokenPromises', () => {
  const vectors = (version: string, ...decisions: string[]): Vectors => ({
    format: 1,
    version,
    decisions: decisions.map((decision, index) => vector(`hosts/${index + 1}`, decision)),
    rejected: [],
  })
  const of = (version: string, ...decisions: string[]) =>
    withRelease([], vectors(version, ...decisions))

  it.each([
    ['no vector', of('1.2.3', 'allow'), vectors('1.2.3', 'allow')],
    ['a further vector', of('1.2.3', 'allow'), vectors('1.2.4', 'allow', 'deny')],
    ['an answer in a major version', of('1.2.3', 'allow'), vectors('2.0.0', 'deny')],
    ['an answer before 1.0.0', of('0.2.3', 'allow'), vectors('0.3.0', 'deny')],
    ['a description', of('1.2.3', 'allow'), renamed(vectors('1.2.3', 'allow'))],
  ])('allows a change of %s', (_what, before, after) => {
    expect(brokenPromises(before, after)).toEqual([])
  })

  it.each([
    ['an answer', of('1.2.3', 'allow'), vectors('1.3.0', 'deny')],
    ['an answer in a patch before 1.0.0', of('0.2.3', 'allow'), vectors('0.2.4', 'deny')],
    ['a vector', of('1.2.3', 'allow', 'deny'), vectors('1.3.0', 'allow')],
    ['a subject', of('1.2.3', 'allow'), vectors('1.3.0')],
    ['the order', of('1.2.3', 'allow', 'deny'), vectors('1.3.0', 'deny', 'allow')],
    [
      'an answer of an earlier release',
      withRelease(of('1.2.3', 'allow'), vectors('1.3.0', 'allow')),
      vectors('1.4.0', 'deny'),
    ],
  ])('rejects a change of %s', (_what, before, after) => {
    expect(brokenPromises(before, after)).not.toEqual([])
  })

  it('never changes an existing release', () => {
    const made = of('1.2.3', 'allow')

    expect(withRelease(made, vectors('1.2.3', 'deny'))).toBe(made)
  })
})

function compiled({ set, options, user_teams }: DecisionVector) {
  const { policies, ...others } = set
  return compilePolicy(
    policies === undefined ? others : { ...set, policies: effectivePolicies(policies, user_teams) },
    options,
  )
}

function vector(id: string, decision: string): DecisionVector {
  return {
    id,
    description: id,
    set: {},
    request: {},
    expected: {
      decision: decision as 'allow',
      reason: 'rule',
      rules: [],
      request: null,
      revision: null,
      stale: false,
    },
  }
}

function renamed(vectors: Vectors): Vectors {
  const decisions = vectors.decisions.map((each) => ({ ...each, description: 'another' }))
  return { ...vectors, decisions }
}
