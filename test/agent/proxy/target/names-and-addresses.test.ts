import { describe, expect, it } from 'vitest'
import { bundleOf, type RuleLine } from '../../fixture/bundle.ts'
import { connectTo, exchangeRaw, get, startOrigin, startProxy } from '../../fixture/proxy.ts'

const local: RuleLine = ['allow', 'connect:tcp', '127.0.0.1', '127.0.0.2']
const named: RuleLine = ['allow', 'connect:tcp', '*.a.test']

describe('names and addresses', () => {
  it('resolves a name once and dials the address that was decided', async () => {
    const origin = await startOrigin('127.0.0.2')
    const names: Record<string, string[]> = { 'x.a.test': ['127.0.0.2'] }
    const { port, resolved, decisions } = await startProxy(
      bundleOf(named, ['allow', 'connect:tcp', '127.0.0.2']),
      names,
    )

    const answer = await exchangeRaw(port, get(`X.A.Test.:${origin.port}`))

    expect(answer).toMatchObject({ status: 200, body: '127.0.0.2 /' })
    expect(resolved).toEqual(['x.a.test'])
    expect(decisions).toMatchObject([{ request: { host: 'x.a.test', address: '127.0.0.2' } }])
    expect(origin.requests[0]?.headers.host).toBe(`x.a.test:${origin.port}`)
  })

  it('does not follow an allowed name to a protected address', async () => {
    const origin = await startOrigin()
    const { port } = await startProxy(bundleOf(named), { 'x.a.test': ['127.0.0.1'] })

    const answer = await exchangeRaw(port, get(`x.a.test:${origin.port}`))

    expect(answer.status).toBe(403)
    expect(JSON.parse(answer.body)).toMatchObject({
      reason: 'protected_address',
      request: { host: 'x.a.test', address: '127.0.0.1' },
    })
    expect(origin.requests).toHaveLength(0)
  })

  it('decides a second answer for the same name by itself', async () => {
    const origin = await startOrigin()
    const names: Record<string, string[]> = { 'x.a.test': ['127.0.0.1'] }
    const bundle = bundleOf(
      named,
      ['allow', 'connect:tcp', '127.0.0.1'],
      ['deny', 'connect:tcp', '10.0.0.0/8'],
    )
    const { port, resolved } = await startProxy(bundle, names)
    expect((await exchangeRaw(port, get(`x.a.test:${origin.port}`))).status).toBe(200)

    names['x.a.test'] = ['10.0.0.1']

    expect((await exchangeRaw(port, get(`x.a.test:${origin.port}`))).status).toBe(403)
    expect(resolved).toHaveLength(2)
  })

  it('dials only the permitted addresses of a mixed answer', async () => {
    const origin = await startOrigin('127.0.0.2')
    const { port } = await startProxy(
      bundleOf(named, ['allow', 'connect:tcp', '127.0.0.2'], ['deny', 'connect:tcp', '10.0.0.0/8']),
      { 'x.a.test': ['10.0.0.1', '::ffff:10.0.0.2', '64:ff9b::a00:1', '127.0.0.1', '127.0.0.2'] },
    )

    expect(await exchangeRaw(port, get(`x.a.test:${origin.port}`))).toMatchObject({
      status: 200,
      body: '127.0.0.2 /',
    })
  })

  it('answers with the first denied address when all are denied', async () => {
    const { port } = await startProxy(bundleOf(named, ['deny', 'connect:tcp', '10.0.0.0/8']), {
      'x.a.test': ['10.0.0.9', '127.0.0.1'],
    })

    const answer = await exchangeRaw(port, get('x.a.test'))

    expect(JSON.parse(answer.body)).toMatchObject({
      reason: 'rule',
      request: { address: '10.0.0.9' },
    })
  })

  it('tries the next permitted address when one is unreachable', async () => {
    const origin = await startOrigin('127.0.0.2')
    const { port } = await startProxy(bundleOf(named, local), {
      'x.a.test': ['127.0.0.1', '127.0.0.2'],
    })

    expect((await exchangeRaw(port, get(`x.a.test:${origin.port}`))).body).toBe('127.0.0.2 /')
  })

  it.each([
    ['that no rule names', 'secret.evil.test'],
    ['that is one label too deep', 'y.x.a.test'],
    ['that only resembles an allowed one', 'xa.test'],
    ['that a rule denies', 'bad.a.test'],
  ])('sends no query for a name %s', async (_what, name) => {
    const { port, resolved } = await startProxy(
      bundleOf(named, ['deny', 'connect:tcp', 'bad.a.test']),
      {},
    )

    expect((await exchangeRaw(port, get(name))).status).toBe(403)
    expect((await exchangeRaw(port, connectTo(`${name}:443`))).status).toBe(403)
    expect(resolved).toEqual([])
  })

  it.each(['localhost', 'x.localhost', 'LOCALHOST.'])(
    'takes %s for loopback without a query',
    async (name) => {
      const origin = await startOrigin()
      const closed = await startProxy(
        bundleOf(['allow', 'connect:tcp', 'localhost', '*.localhost']),
      )
      const open = await startProxy(bundleOf(['allow', 'connect:tcp', '127.0.0.1']))
      const text = get(`${name}:${origin.port}`)

      expect((await exchangeRaw(closed.port, text)).status).toBe(403)
      expect((await exchangeRaw(open.port, text)).status).toBe(200)
      expect([...closed.resolved, ...open.resolved]).toEqual([])
    },
  )

  it.each([
    '127.1',
    '0x7f.1',
    '0177.0.0.1',
    '2130706433',
    '127.0.0.1.',
    '[::ffff:127.0.0.1]',
    '[::FFFF:7f00:1]',
  ])('takes %s for 127.0.0.1', async (spelling) => {
    const origin = await startOrigin()
    const closed = await startProxy(bundleOf(['allow', 'connect:tcp', '0.0.0.0/0', '::/0']))
    const open = await startProxy(bundleOf(['allow', 'connect:tcp', '127.0.0.1']))
    const text = get(`${spelling}:${origin.port}`)

    const refused = await exchangeRaw(closed.port, text)

    expect(JSON.parse(refused.body)).toMatchObject({
      reason: 'protected_address',
      request: { host: '127.0.0.1' },
    })
    expect((await exchangeRaw(open.port, text)).body).toBe('127.0.0.1 /')
  })

  it('distinguishes an unknown name and an unreachable address from a denied one', async () => {
    const { port } = await startProxy(bundleOf(named, local), { 'x.a.test': ['127.0.0.1'] })

    const unknown = await exchangeRaw(port, get('y.a.test'))
    const closed = await exchangeRaw(port, connectTo('x.a.test:1'))

    expect(unknown.status).toBe(502)
    expect(unknown.head).toContain('HTTP/1.1 502 Palisade: y.a.test cannot be resolved')
    expect(JSON.parse(unknown.body)).toMatchObject({
      error: 'Palisade: y.a.test cannot be resolved',
      code: 'internal',
      reason: 'resolution_failed',
    })
    expect(closed.status).toBe(502)
    expect(JSON.parse(closed.body)).toMatchObject({ reason: 'dial_failed' })
  })

  it('does not reach loopback through 0.0.0.0', async () => {
    const origin = await startOrigin()
    const { port } = await startProxy(bundleOf(['allow', 'connect:tcp', '0.0.0.0/32']))

    expect((await exchangeRaw(port, get(`0.0.0.0:${origin.port}`))).status).toBe(502)
    expect(origin.requests).toHaveLength(0)
  })

  it('connects to another address of a name that also leads to itself', async () => {
    const proxy = await startProxy(bundleOf(local, named), {
      'x.a.test': ['127.0.0.1', '127.0.0.2'],
    })
    await startOrigin('127.0.0.2', proxy.port)

    const answer = await exchangeRaw(proxy.port, get(`x.a.test:${proxy.port}`))

    expect(answer.body).toBe('127.0.0.2 /')
  })

  it('never connects to itself', async () => {
    const { port } = await startProxy(bundleOf(local, named), { 'x.a.test': ['127.0.0.1'] })

    for (const authority of [`127.0.0.1:${port}`, `x.a.test:${port}`, `localhost:${port}`]) {
      for (const text of [get(authority), connectTo(authority)]) {
        const answer = await exchangeRaw(port, text)
        expect(answer.status).toBe(403)
        expect(answer.head).toContain('denied, the proxy does not connect to itself')
        expect(JSON.parse(answer.body)).toMatchObject({ reason: 'protected_address', rules: [] })
      }
    }
  })
})
