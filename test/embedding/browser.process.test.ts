import { createContext, runInContext } from 'node:vm'
import { canonicalHost } from '@palisade/policy-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openPage } from '../browser/open-page.ts'
import { bundle } from './bundle.ts'
import { makeVectors } from './vectors.ts'

/** Takes and returns JSON, because objects of another realm have other prototypes. */
const PROGRAM = `
  import { canonicalHost, compilePolicy, decide, effectivePolicies } from '@palisade/policy-core'

  export const names = (json) => JSON.stringify(JSON.parse(json).map((text) => canonicalHost(text)))

  export const answers = (json) => {
    const answer = ({ set, user_teams, options, now: time, request }) => {
      const policies = set.policies && effectivePolicies(set.policies, user_teams)
      const now = time === undefined ? undefined : Date.parse(time)
      const compiled = compilePolicy({ ...set, policies }, options)
      const { hint, ...decision } = decide(compiled, request, { now })
      return decision
    }
    return JSON.stringify(JSON.parse(json).map(answer))
  }
`

/** Creates a realm with only ECMAScript and `URL`, without the globals that V8 adds. */
function createRealm() {
  const realm = createContext({ URL })
  runInContext('delete globalThis.console; delete globalThis.WebAssembly', realm)
  return realm
}

/** Calls a function of the bundled program and returns its result. */
type Call = (call: string, input: unknown) => Promise<unknown>

/** Environments for the bundle: a realm with only the language and `URL`, and a real browser. */
const ENVIRONMENTS: Readonly<Record<string, (code: string) => Promise<Call>>> = {
  async 'a bare realm'(code) {
    const realm = createRealm()
    runInContext(code, realm)
    return async (call, input) => JSON.parse(String(runInContext(expressionOf(call, input), realm)))
  },
  async Chromium(code) {
    const page = await openPage()
    onTestFinished(() => page.close())
    await page.run(code)
    return async (call, input) => JSON.parse(String(await page.evaluate(expressionOf(call, input))))
  },
}

function expressionOf(call: string, input: unknown): string {
  return `program.${call}(${JSON.stringify(JSON.stringify(input))})`
}

async function load(environment: string): Promise<Call> {
  const { code, imports } = await bundle(PROGRAM, 'script')
  expect(imports).toEqual([])
  const open = ENVIRONMENTS[environment]
  if (open === undefined) throw new Error(`unknown environment \`${environment}\``)
  return open(code)
}

it('has no globals of Node or of a page', () => {
  const absent = 'process Buffer require module console setTimeout fetch crypto window document'

  const found = absent
    .split(' ')
    .filter((name) => runInContext(`typeof ${name}`, createRealm()) !== 'undefined')

  expect(found).toEqual([])
})

describe.each(Object.keys(ENVIRONMENTS))('in %s', (environment) => {
  it('decides every published vector as in Node', async () => {
    const call = await load(environment)
    const vectors = makeVectors('0.0.0').decisions

    const answers = await call('answers', vectors)

    expect(answers).toStrictEqual(vectors.map(({ expected }) => expected))
  })

  it('reads international names as in Node', async () => {
    const call = await load(environment)
    const names = [
      'B\u00dcCHER.example',
      'fa\u00df.de',
      'xn--bcher-kva.example',
      'xn--a.example',
      'xn--a.\u00fc.example',
      'exa\u00admple.com',
      '\u4f8b\u3048.jp\u3002',
      '\uff11\uff12\uff17.1',
      'a\u200db.example',
      'ex\uff0561mple.com',
      'ex\ufe6a61mple.com',
      '<\u0338.test',
    ]

    const read = await call('names', names)

    expect(read).toStrictEqual(names.map((name) => canonicalHost(name)))
    expect(read).toMatchObject([
      { name: 'xn--bcher-kva.example' },
      { name: 'xn--fa-hia.de' },
      { name: 'xn--bcher-kva.example' },
      { name: 'xn--a.example' },
      null,
      { name: 'example.com' },
      { name: 'xn--r8jz45g.jp' },
      { address: '127.0.0.1' },
      null,
      null,
      null,
      { name: 'xn--gdh.test' },
    ])
  })
})
