import { compilePolicy, decide, type Decision } from '@palisade/policy-core'
import fc from 'fast-check'
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { answerDenied, formatRawAnswer } from '../../../../agent/src/proxy/denial/answer.ts'
import { renderDenialPage } from '../../../../agent/src/proxy/denial/denial-page.ts'
import { describeDenial } from '../../../../agent/src/proxy/denial/describe-denial.ts'
import { createNearMisses } from '../../../../agent/src/proxy/denial/near-misses.ts'
import { bundleClaims, bundleOf, policyOf, type RuleLine } from '../../fixture/bundle.ts'
import {
  connectTo,
  exchangeRaw,
  get,
  openRaw,
  readAll,
  readUntil,
  startProxy,
} from '../../fixture/proxy.ts'

const DENY: RuleLine = ['deny', 'connect:tcp', 'bad.test']
const NEAR: RuleLine = ['allow', 'connect:tcp', 'api.test:443']

/** A denial by one rule with that name. */
function deniedBy(ruleName: string, host = 'bad.test'): Decision {
  const rule = { id: 'rule_1', name: ruleName, decision: 'deny' as const, resources: [host] }
  const policy = {
    id: 'pol_1',
    name: ruleName,
    allowlist_v0: { rules: [{ ...rule, actions: ['connect:tcp' as const] }] },
  }
  const compiled = compilePolicy({ policies: [policy] })
  return decide(compiled, { action: 'connect:tcp', host, port: 443 })
}

describe('a denial', () => {
  it.each([
    ['CONNECT', connectTo('bad.test:443'), 443],
    ['an absolute-form request', get('bad.test'), 80],
  ])('of %s names Palisade, the target, the rule and a command', async (_what, text, port) => {
    const proxy = await startProxy(bundleOf(DENY))

    const { head, body } = await exchangeRaw(proxy.port, text)

    const sentence =
      `Palisade: bad.test:${port} denied by rule "Rule 1"; ` +
      `run: palisade explain connect:tcp bad.test:${port}`
    expect(head).toMatch(/^HTTP\/1\.1 403 /)
    expect(head.split('\r\n')[0]).toBe(`HTTP/1.1 403 ${sentence}`)
    expect(JSON.parse(body)).toMatchObject({
      error:
        `${sentence}; do not retry, the answer stays the same until the policy changes; ` +
        'for access ask an editor of the organization',
      reason: 'rule',
      near_misses: [],
    })
  })

  it('says that no rule allows the target, which nearly did, and who can add one', async () => {
    const { port } = await startProxy(bundleOf(NEAR))

    const { head, body } = await exchangeRaw(port, connectTo('api.test:8443'))

    expect(head).toContain('403 Palisade: api.test:8443 denied, no rule allows it; run: palisade')
    expect(JSON.parse(body)).toMatchObject({
      near_misses: [{ miss: 'other_port', resource: 'api.test:443' }],
      error: expect.stringContaining(
        'an editor of the organization can add: allow connect:tcp api.test:8443; ' +
          'for access for a while run: palisade request api.test:8443 --reason TEXT',
      ),
    })
  })

  it('by thousands of rules lists a hundred, and counts the others', async () => {
    const rules = Array.from({ length: 2_000 }, () => DENY)
    const { port } = await startProxy(bundleOf(...rules))

    const { head, body } = await exchangeRaw(port, connectTo('bad.test:443'))
    const page = await exchangeRaw(port, get('bad.test', '/', 'Accept: text/html\r\n'))

    expect(head).toContain('denied by rule "Rule 1" and 1999 more; run:')
    expect(JSON.parse(body)).toMatchObject({ decision: 'deny', rules_omitted: 1_900 })
    expect(JSON.parse(body).rules).toHaveLength(100)
    expect(page.body.match(/<li>/g)).toHaveLength(101)
    expect(page.body).toContain('<li>and 1900 more</li>')
  })

  it('gives no advice for a name that resolves to a protected address', async () => {
    const { port } = await startProxy(bundleOf(NEAR), { 'api.test': ['127.0.0.1'] })

    const { head, body } = await exchangeRaw(port, connectTo('api.test:443'))

    expect(head).toContain('api.test:443 denied, it resolves to the protected address 127.0.0.1;')
    expect(body).not.toContain('allow connect:tcp')
  })

  it('advises no request for access that is always refused', async () => {
    const { port } = await startProxy(bundleOf(NEAR))
    const adviceFor = async (target: string): Promise<string> =>
      JSON.parse((await exchangeRaw(port, connectTo(target))).body).error

    expect(await adviceFor('127.0.0.2:5432')).toMatch(
      /; an editor of the organization can add: allow connect:tcp 127\.0\.0\.2:5432$/,
    )
    expect(await adviceFor('169.254.169.254:80')).toMatch(
      /; 169\.254\.169\.254 is an address of cloud metadata, which hands out [^;]+$/,
    )
  })

  it.each([
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', true],
    ['application/json, text/HTML;q=0.5', true],
    ['*/*', false],
    ['application/json', false],
    ['text/html;q=0, */*', false],
    ['text/htmlx', false],
  ])('is a page only for a client that asks for one: %s', async (accept, isPage) => {
    const { port } = await startProxy(bundleOf(DENY))

    const { head, body } = await exchangeRaw(port, get('bad.test', '/', `Accept: ${accept}\r\n`))

    expect(head.includes('Content-Type: text/html; charset=utf-8')).toBe(isPage)
    expect(body.startsWith('<!doctype html>')).toBe(isPage)
    expect(head).toContain('Palisade-Decision: deny; reason=rule')
  })
})

describe('a support message', () => {
  const text = 'Ask <b>us</b> & “call” 4711'
  const denied = { ...deniedBy('x'), support_message: text }

  it('is in the body, its sentence and the plain text, and not in the status line', () => {
    const { phrase, body } = answerDenied(denied, [], undefined)
    const plain = answerDenied(denied, [], 'text/plain')

    expect(phrase).not.toContain('4711')
    expect(JSON.parse(body)).toMatchObject({
      support_message: text,
      error: expect.stringMatching(/; Ask <b>us<\/b> & “call” 4711$/),
    })
    expect(plain.body).toMatch(/; Ask <b>us<\/b> & “call” 4711\n$/)
  })

  it('is escaped on the page', () => {
    const { body } = answerDenied(denied, [], 'text/html')

    expect(body).toContain('<p class="support">Ask &lt;b&gt;us&lt;/b&gt; &amp; “call” 4711</p>')
  })

  it('is absent without one', () => {
    expect(answerDenied(deniedBy('x'), [], undefined).body).not.toContain('support')
    expect(answerDenied(deniedBy('x'), [], 'text/html').body).not.toContain('class="support"')
  })
})

describe('the page of a denial', () => {
  it('has each command in an element that a click selects', async () => {
    const { port } = await startProxy(bundleOf(NEAR))

    const { head, body } = await exchangeRaw(
      port,
      get('api.test:8443', '/', 'Accept: text/html\r\n'),
    )

    expect(body).toContain('<p>api.test:8443 denied, no rule allows it.</p>')
    expect(body).toContain('<code>palisade explain connect:tcp api.test:8443</code>')
    expect(body).toContain('<code>palisade request api.test:8443 --reason TEXT</code>')
    expect(body).toContain('<code>allow connect:tcp api.test:8443</code>')
    const style = /<style>(.*)<\/style>/s.exec(body)?.[1] ?? ''
    const digest = createHash('sha256').update(style).digest('base64')
    expect(head).toContain(`default-src 'none'; style-src 'sha256-${digest}'\r\n`)
  })
})

describe('a denial in plain text', () => {
  it.each([
    ['text/plain', true],
    ['text/plain;q=0.5, */*;q=0.1', true],
    ['application/json, text/plain, */*', false],
    ['text/plain;q=0', false],
  ])('is for a client that asks for it, and not for JSON: %s', async (accept, isText) => {
    const { port } = await startProxy(bundleOf(DENY))

    const { head, body } = await exchangeRaw(port, get('bad.test', '/', `Accept: ${accept}\r\n`))

    expect(head.includes('Content-Type: text/plain; charset=utf-8')).toBe(isText)
    expect(body.startsWith('Palisade: bad.test:80 denied by rule "Rule 1"; run: ')).toBe(isText)
  })
})

describe('an unread denial', () => {
  it.each([
    ['CONNECT', connectTo('bad.test:443')],
    ['an absolute-form request', get('bad.test')],
  ])('of %s keeps the slot of its client for some time', async (_what, text) => {
    const policy = policyOf(...Array.from({ length: 100 }, () => DENY))
    // More in total than the kernel buffers.
    const bundle = bundleClaims({ policies: [{ ...policy, name: 'x'.repeat(200_000) }] })
    const { port, decisions, live } = await startProxy(bundle, {}, 100, { flushTimeoutMs: 1_000 })

    const client = await openRaw(port, text)
    await expect.poll(() => decisions.length).toBe(1)
    await new Promise((resolve) => setImmediate(resolve))
    expect(live.size()).toBe(1)
    await expect.poll(() => live.size()).toBe(0)

    const received = await readAll(client)
    expect(received.length).toBeLessThan(20_000_000)
  })

  it('frees its slot at once when it is read', async () => {
    const { port, live } = await startProxy(bundleOf(DENY))

    for (const text of [connectTo('bad.test:443'), get('bad.test')]) {
      await readUntil(await openRaw(port, text), '"near_misses"')
      await expect.poll(() => live.size()).toBe(0)
    }
  })
})

describe('a rule with any name', () => {
  it('stays within the status line and its quotation marks', () => {
    const names = fc.oneof(fc.string({ unit: 'binary', maxLength: 255 }), fc.constant('"\r\nX: 1'))
    fc.assert(
      fc.property(names, (name) => {
        const denied = deniedBy(name)
        const sentence = describeDenial(denied)
        const [line = '', ...fields] = formatRawAnswer(answerDenied(denied, [], undefined))
          .split('\r\n\r\n', 1)[0]!
          .split('\r\n')

        expect(sentence).toMatch(/^[\x20-\x7e]{1,300}$/)
        expect(sentence.match(/"/g)).toHaveLength(2)
        expect(line).toBe(`HTTP/1.1 403 ${sentence}`)
        expect(fields.every((field) => /^[A-Za-z-]+: [\x20-\x7e]*$/.test(field))).toBe(true)
      }),
    )
  })

  it('is escaped on the page', () => {
    const page = renderDenialPage(deniedBy(`<script>"'&`), [])

    expect(page).toContain('rule “&lt;script&gt;&quot;&#39;&amp;” of policy')
    expect(page).not.toContain('<script')
  })

  it('is cut when its name is long, so that the sentence stays bounded', () => {
    const host = `${'a'.repeat(60)}.`.repeat(4) + 'test'

    const sentence = describeDenial(deniedBy('x'.repeat(255), host))

    expect(sentence).toContain(`"${'x'.repeat(61)}..."`)
    expect(sentence.length).toBeLessThan(1_000)
  })
})

describe('near misses', () => {
  it('are searched for in at most a twentieth of the time', () => {
    let uptimeMs = 0
    let searches = 0
    let searchMs = 400
    const compiled = compilePolicy({ policies: [] })
    const find = createNearMisses(
      (request) => {
        searches += 1
        uptimeMs += searchMs
        return { ...decide(compiled, request), matched: [], near_misses: [], detail: null }
      },
      () => uptimeMs,
    )
    const denied = decide(compiled, { action: 'connect:tcp', host: 'a.test', port: 443 })

    find(deniedBy('x'))
    expect(searches).toBe(0)
    for (let asked = 0; asked < 50; asked += 1) find(denied)
    expect(searches).toBe(1)

    uptimeMs = 20 * searchMs - 1
    find(denied)
    expect(searches).toBe(1)

    uptimeMs += 1
    searchMs = 0
    for (let asked = 0; asked < 50; asked += 1) find(denied)
    expect(searches).toBe(51)
  })
})
