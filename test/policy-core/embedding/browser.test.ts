import { createContext, runInContext } from 'node:vm'
import { canonicalHost } from '@palisade/policy-core'
import { expect, it } from 'vitest'
import { bundle } from './bundle.ts'
import { makeVectors } from './vectors.ts'

/** Asks and answers in JSON: objects of another realm are not those of the test. */
const PROGRAM = `
  import { canonicalHost, compilePolicy, decide, effectivePolicies } from '@palisade/policy-core'

  export const names = (json) => JSON.stringify(JSON.parse(json).map((text) => canonicalHost(text)))

  export const answers = (json) => {
    const answer = ({ set, user_teams, options, request }) => {
      const policies = set.policies && effectivePolicies(set.policies, user_teams)
      const { hint, ...decision } = decide(compilePolicy({ ...set, policies }, options), request)
      return decision
    }
    return JSON.stringify(JSON.parse(json).map(answer))
  }
`

/** Has ECMAScript and `URL`; what V8 adds of its own is taken away. */
function createRealm() {
  const realm = createContext({ URL })
  runInContext('delete globalThis.console; delete globalThis.WebAssembly', realm)
  return realm
}

async function load() {
  const realm = createRealm()
  const { code, imports } = await bundle(PROGRAM, 'script')
  expect(imports).toEqual([])
  runInContext(code, realm)
  return (call: string, input: unknown): unknown =>
    JSON.parse(
      String(runInContext(`program.${call}(${JSON.stringify(JSON.stringify(input))})`, realm)),
    )
}

it('runs where nothing of Node or of a page is', () => {
  const absent = 'process Buffer require module console setTimeout fetch crypto window document'

  const found = absent
    .split(' ')
    .filter((name) => runInContext(`typeof ${name}`, createRealm()) !== 'undefined')

  expect(found).toEqual([])
})

it('decides every published vector there as it does in Node', async () => {
  const call = await load()
  const vectors = makeVectors('0.0.0').decisions

  const answers = call('answers', vectors)

  expect(answers).toStrictEqual(vectors.map(({ expected }) => expected))
})

it('reads international names there as it does in Node', async () => {
  const call = await load()
  const names = [
    'B\u00dcCHER.example',
    'fa\u00df.de',
    'xn--bcher-kva.example',
    'xn--a.example',
    'exa\u00admple.com',
    '\u4f8b\u3048.jp\u3002',
    '\uff11\uff12\uff17.1',
    'a\u200db.example',
  ]

  const read = call('names', names)

  expect(read).toStrictEqual(names.map((name) => canonicalHost(name)))
  expect(read).toMatchObject([
    { name: 'xn--bcher-kva.example' },
    { name: 'xn--fa-hia.de' },
    { name: 'xn--bcher-kva.example' },
    { name: 'xn--a.example' },
    { name: 'example.com' },
    { name: 'xn--r8jz45g.jp' },
    { address: '127.0.0.1' },
    null,
  ])
})
