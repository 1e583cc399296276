import { describe, expect, it } from 'vitest'
import { bundleOf, type RuleLine } from '../../fixture/bundle.ts'
import { createParentProxy } from '../../../../agent/src/proxy/parent/parent-proxy.ts'
import { AUTHORIZATION, startParent } from '../../fixture/parent-proxy.ts'
import {
  connectTo,
  exchangeRaw,
  get,
  openRaw,
  readUntil,
  startOrigin,
  startProxy,
  startTcpServer,
} from '../../fixture/proxy.ts'

/** Public addresses, which the test's parent leads to loopback. */
const NAMES = { 'x.a.test': ['10.0.0.7'], 'y.a.test': ['10.0.0.8', '10.0.0.9'] }
const LEADS = { '10.0.0.7': '127.0.0.1', '10.0.0.9': '127.0.0.1', 'x.a.test': '127.0.0.1' }
const named: RuleLine = ['allow', 'connect:tcp', '*.a.test']

async function startEcho(): Promise<number> {
  return startTcpServer((socket) => socket.pipe(socket))
}

describe('a parent proxy', () => {
  it('carries an allowed tunnel to the decided address', async () => {
    const parent = await startParent({ names: LEADS })
    const echo = await startEcho()
    const proxy = await startProxy(bundleOf(named), NAMES, 100, { parent })
    const socket = await openRaw(proxy.port, connectTo(`x.a.test:${echo}`))
    expect(await readUntil(socket, '\r\n\r\n')).toContain('HTTP/1.1 200 ')

    socket.write('ping')

    expect(await readUntil(socket, 'ping')).toBe('ping')
    expect(parent.asked).toEqual([`10.0.0.7:${echo}`])
    expect(proxy.dialled).toEqual([`127.0.0.1:${parent.port}`])
    expect(proxy.decisions).toMatchObject([{ decision: 'allow', request: { address: '10.0.0.7' } }])
  })

  it('carries an allowed absolute-form request with the name of the origin', async () => {
    const parent = await startParent({ names: LEADS })
    const origin = await startOrigin()
    const proxy = await startProxy(bundleOf(named), NAMES, 100, { parent })

    const answer = await exchangeRaw(proxy.port, get(`x.a.test:${origin.port}`, '/path'))

    expect(answer).toMatchObject({ status: 200, body: '127.0.0.1 /path' })
    expect(origin.requests[0]?.headers.host).toBe(`x.a.test:${origin.port}`)
    expect(parent.asked).toEqual([`10.0.0.7:${origin.port}`])
  })

  it('is not asked for a denied name, nor for a name with a denied address', async () => {
    const parent = await startParent({ names: LEADS })
    const proxy = await startProxy(
      bundleOf(named, ['deny', 'connect:tcp', '10.0.0.0/8']),
      NAMES,
      100,
      { parent },
    )

    for (const authority of ['x.b.test:443', 'x.a.test:443', '10.0.0.7:443'])
      for (const text of [connectTo(authority), get(authority)])
        expect((await exchangeRaw(proxy.port, text)).status).toBe(403)

    expect(parent.asked).toEqual([])
    expect(proxy.dialled).toEqual([])
    expect(proxy.resolved).toEqual(['x.a.test', 'x.a.test'])
  })

  it('gets no connection to loopback, which is dialled directly', async () => {
    const parent = await startParent()
    const echo = await startEcho()
    const proxy = await startProxy(
      bundleOf(named, ['allow', 'connect:tcp', '127.0.0.1']),
      { 'x.a.test': ['127.0.0.1'] },
      100,
      { parent },
    )

    for (const host of ['127.0.0.1', 'localhost', 'x.a.test', '[::ffff:127.0.0.1]']) {
      const answer = await openRaw(proxy.port, connectTo(`${host}:${echo}`))
      expect(await readUntil(answer, '\r\n\r\n')).toContain(' 200 ')
    }

    expect(proxy.dialled).toEqual(Array(4).fill(`127.0.0.1:${echo}`))
    expect(parent.asked).toEqual([])
  })

  it.each([403, 503])('is asked for the next permitted address after a %i', async (status) => {
    const echo = await startEcho()
    const parent = await startParent({
      names: LEADS,
      refuse: (authority) => (authority.startsWith('10.0.0.8:') ? status : undefined),
    })
    const proxy = await startProxy(bundleOf(named), NAMES, 100, { parent })

    const socket = await openRaw(proxy.port, connectTo(`y.a.test:${echo}`))

    expect(await readUntil(socket, '\r\n\r\n')).toContain(' 200 ')
    expect(parent.asked).toEqual([`10.0.0.8:${echo}`, `10.0.0.9:${echo}`])
  })

  it('closes a tunnel that a new policy denies', async () => {
    const parent = await startParent({ names: LEADS })
    const echo = await startEcho()
    const proxy = await startProxy(bundleOf(named), NAMES, 100, { parent })
    const socket = await openRaw(proxy.port, connectTo(`x.a.test:${echo}`))
    await readUntil(socket, '\r\n\r\n')
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.on('end', () => socket.end())

    proxy.use({ ...bundleOf(named, ['deny', 'connect:tcp', '10.0.0.7']), revision: 8 })

    await closed
    expect(proxy.live.size()).toBe(0)
  })
})

describe('credentials', () => {
  it('reach the parent and nobody else', async () => {
    const parent = await startParent({ names: LEADS, needsCredentials: true })
    const origin = await startOrigin()
    const proxy = await startProxy(bundleOf(named), NAMES, 100, {
      parent: { ...parent, authorization: AUTHORIZATION },
    })

    const answer = await exchangeRaw(
      proxy.port,
      get(`x.a.test:${origin.port}`, '/', 'Proxy-Authorization: Basic forged\r\n'),
    )

    expect(answer.status).toBe(200)
    expect(parent.authorizations).toEqual([AUTHORIZATION])
    expect(origin.requests[0]?.headers).not.toHaveProperty('proxy-authorization')
  })

  it('are in no answer and no status, even where the parent repeats them', async () => {
    const parent = await startParent({ refuse: () => 403 })
    const proxy = await startProxy(bundleOf(named), NAMES, 100, {
      parent: { ...parent, authorization: AUTHORIZATION },
    })

    const answer = await exchangeRaw(proxy.port, connectTo('y.a.test:443'))

    expect(answer.status).toBe(502)
    const shown = JSON.stringify([answer, proxy.parent?.status(), proxy.errors])
    expect(shown).toContain('the parent proxy answered 403')
    expect(shown).not.toContain(AUTHORIZATION.slice('Basic '.length))
    expect(shown).not.toContain('s3cret')
  })

  it('that are wrong are tried once, not for each address', async () => {
    const parent = await startParent({ needsCredentials: true })
    const proxy = await startProxy(bundleOf(named), NAMES, 100, { parent })

    const answer = await exchangeRaw(proxy.port, connectTo('y.a.test:443'))

    expect(answer.status).toBe(502)
    expect(JSON.parse(answer.body)).toMatchObject({
      reason: 'parent_failed',
      message: expect.stringContaining('answered 407 (authentication required)'),
    })
    expect(parent.asked).toHaveLength(1)
    expect(proxy.parent?.status().last_error).toMatchObject({ code: 'refused' })
  })
})

describe('a parent that resolves names', () => {
  const resolving = async (rules: readonly RuleLine[], noProxy: readonly string[] = []) => {
    const parent = await startParent({ names: LEADS })
    const proxy = await startProxy(bundleOf(...rules), NAMES, 100, {
      parent: { ...parent, resolves: true, noProxy },
    })
    return { parent, proxy }
  }

  it('is asked for an allowed name, which is not resolved here', async () => {
    const echo = await startEcho()
    const { parent, proxy } = await resolving([named, ['deny', 'connect:tcp', '10.0.0.0/8']])

    const socket = await openRaw(proxy.port, connectTo(`X.A.test.:${echo}`))

    expect(await readUntil(socket, '\r\n\r\n')).toContain(' 200 ')
    expect(parent.asked).toEqual([`x.a.test:${echo}`])
    expect(proxy.resolved).toEqual([])
    expect(proxy.parent?.status()).toMatchObject({ resolves: true, last_error: null })
  })

  it('keeps an open tunnel while the name is allowed, and no longer', async () => {
    const echo = await startEcho()
    const { proxy } = await resolving([named])
    const socket = await openRaw(proxy.port, connectTo(`x.a.test:${echo}`))
    await readUntil(socket, '\r\n\r\n')

    proxy.use({ ...bundleOf(named, ['deny', 'connect:tcp', '10.0.0.0/8']), revision: 8 })
    socket.write('ping')
    expect(await readUntil(socket, 'ping')).toBe('ping')
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.on('end', () => socket.end())
    proxy.use({ ...bundleOf(['allow', 'connect:tcp', '0.0.0.0/0']), revision: 9 })

    await closed
    expect(proxy.live.size()).toBe(0)
  })

  it('is not asked for a name that only a rule on addresses could allow', async () => {
    const { parent, proxy } = await resolving([['allow', 'connect:tcp', '0.0.0.0/0', '::/0']])

    const answer = await exchangeRaw(proxy.port, connectTo('x.a.test:443'))

    expect(answer.status).toBe(403)
    expect(answer.head).toContain('denied, the parent proxy resolves names, so only a rule on')
    expect(JSON.parse(answer.body)).toMatchObject({
      reason: 'default_deny',
      hint: expect.stringContaining('allow connect:tcp x.a.test:443'),
    })
    expect([parent.asked, proxy.resolved, proxy.dialled]).toEqual([[], [], []])
  })

  it('is asked for an address only if rules on addresses allow it', async () => {
    const echo = await startEcho()
    const { parent, proxy } = await resolving([['allow', 'connect:tcp', '10.0.0.7']])

    const socket = await openRaw(proxy.port, connectTo(`10.0.0.7:${echo}`))
    expect(await readUntil(socket, '\r\n\r\n')).toContain(' 200 ')

    for (const host of ['10.0.0.8', '127.0.0.1', '169.254.169.254'])
      expect((await exchangeRaw(proxy.port, connectTo(`${host}:${echo}`))).status).toBe(403)
    expect(parent.asked).toEqual([`10.0.0.7:${echo}`])
  })

  it('is not asked for a listed name, whose addresses are decided here', async () => {
    const { parent, proxy } = await resolving(
      [named, ['deny', 'connect:tcp', '10.0.0.0/8']],
      ['x.a.test'],
    )

    expect((await exchangeRaw(proxy.port, connectTo('x.a.test:443'))).status).toBe(403)

    expect(proxy.resolved).toEqual(['x.a.test'])
    expect(parent.asked).toEqual([])
  })
})

describe('an absolute-form request', () => {
  const start = async (authorization: string | null) => {
    const parent = await startParent({ names: LEADS, needsCredentials: true })
    const rules = bundleOf(named, ['allow', 'connect:tcp', '10.0.0.7'])
    const proxy = await startProxy(rules, NAMES, 100, {
      parent: { ...parent, resolves: true, authorization },
    })
    return { parent, proxy, origin: await startOrigin() }
  }

  it.each(['x.a.test', '10.0.0.7'])(
    'reaches the parent as it is where the parent would tunnel to %s anyway',
    async (host) => {
      const { parent, proxy, origin } = await start(AUTHORIZATION)
      const authority = `${host}:${origin.port}`

      const answer = await exchangeRaw(
        proxy.port,
        `POST http://${authority}/a?b=c HTTP/1.1\r\nHost: ${authority}\r\n` +
          'Proxy-Authorization: Basic forged\r\nContent-Length: 4\r\n' +
          'Connection: close\r\n\r\nbody',
      )

      expect(answer).toMatchObject({ status: 200, body: '127.0.0.1 /a?b=c' })
      expect(answer.head).toContain('Palisade-Decision: allow; reason=rule')
      expect(parent).toMatchObject({ asked: [], requested: [`http://${authority}/a?b=c`] })
      expect(parent.authorizations).toEqual([AUTHORIZATION])
      expect(origin.requests[0]).toMatchObject({ body: 'body', headers: { host: authority } })
      expect(origin.requests[0]?.headers).not.toHaveProperty('proxy-authorization')
    },
  )

  it('with the method TRACE is tunnelled, so that no answer repeats the credentials', async () => {
    const { parent, proxy, origin } = await start(AUTHORIZATION)

    const answer = await exchangeRaw(
      proxy.port,
      get(`x.a.test:${origin.port}`, '/', 'Max-Forwards: 0\r\n').replace('GET', 'TRACE'),
    )

    expect(answer.status).toBe(200)
    expect(parent).toMatchObject({ asked: [`x.a.test:${origin.port}`], requested: [] })
    expect(origin.requests[0]?.headers).not.toHaveProperty('proxy-authorization')
  })

  it.each(['trace', 'Trace', 'connect', 'get'])(
    'with the method %s is refused, because Node would send it in capitals',
    async (method) => {
      const { parent, proxy } = await start(AUTHORIZATION)

      const answer = await exchangeRaw(proxy.port, get('x.a.test').replace('GET', method))

      expect([answer.status, JSON.parse(answer.body).message]).toEqual([
        400,
        expect.stringContaining(`\`${method.toUpperCase()}\``),
      ])
      expect(parent).toMatchObject({ asked: [], requested: [], authorizations: [] })
    },
  )

  it('is answered 502 where the parent demands credentials', async () => {
    const { parent, proxy, origin } = await start(null)

    const answer = await exchangeRaw(proxy.port, get(`x.a.test:${origin.port}`))

    expect(answer.status).toBe(502)
    expect(answer.head).not.toMatch(/proxy-authenticate|x-seen/i)
    expect(JSON.parse(answer.body)).toMatchObject({
      reason: 'parent_failed',
      message: expect.stringContaining('answered 407'),
    })
    expect(proxy.parent?.status().last_error).toMatchObject({ code: 'refused' })
    expect(proxy.dialled).toEqual([`127.0.0.1:${parent.port}`])
    expect(origin.requests).toHaveLength(0)
  })

  it('of a denied name reaches no parent', async () => {
    const { parent, proxy } = await start(AUTHORIZATION)

    for (const host of ['x.b.test', '10.0.0.8', '127.0.0.1'])
      expect((await exchangeRaw(proxy.port, get(host))).status).toBe(403)

    expect(parent.requested).toEqual([])
    expect(proxy.dialled).toEqual([])
  })
})

describe('a loop', () => {
  it('to the parent itself is refused, whatever a rule allows', async () => {
    const parent = await startParent({ names: { 'proxy.a.test': '127.0.0.1' } })
    const rules = bundleOf(named, ['allow', 'connect:tcp', '127.0.0.0/8', '::1'])
    const names = { 'proxy.a.test': ['127.0.0.1'], 'x.a.test': ['127.0.0.1'] }
    const byAddress = await startProxy(rules, names, 100, { parent })
    const byName = await startProxy(rules, names, 100, {
      parent: { ...parent, host: 'proxy.a.test' },
    })

    const asked = [
      await exchangeRaw(byAddress.port, connectTo(`127.0.0.1:${parent.port}`)),
      await exchangeRaw(byAddress.port, connectTo(`x.a.test:${parent.port}`)),
      await exchangeRaw(byAddress.port, get(`localhost:${parent.port}`)),
      await exchangeRaw(byAddress.port, connectTo(`127.0.0.2:${parent.port}`)),
      await exchangeRaw(byAddress.port, connectTo(`[::1]:${parent.port}`)),
      await exchangeRaw(byName.port, connectTo(`proxy.a.test:${parent.port}`)),
    ]

    for (const answer of asked) {
      expect(answer.status).toBe(403)
      expect(answer.head).toContain('denied, the proxy connects no program to its parent proxy')
    }
    expect(parent.asked).toEqual([])
    expect([...byAddress.dialled, ...byName.dialled]).toEqual([])
  })

  it('through a parent that is this proxy is refused at its first use', async () => {
    const parent = createParentProxy({
      access: {
        scheme: 'http',
        host: '127.0.0.1',
        port: 8421,
        credentialsPath: null,
        caPath: null,
        noProxy: [],
        resolves: false,
        authorization: null,
        ca: null,
      },
      resolve: () => Promise.reject(new Error('not needed')),
      dial: () => Promise.reject(new Error('dialled')),
      isOwnAddress: (address, port) => address === '127.0.0.1' && port === 8421,
      timeoutMs: 60_000,
      machineAddresses: () => [],
      uptime: () => 0,
      clock: () => 0,
    })

    await expect(
      parent.connect({ host: '10.0.0.7', port: 443 }, new AbortController().signal),
    ).rejects.toThrow('the parent proxy is this proxy itself')

    expect(parent.status().last_error).toMatchObject({ code: 'loop' })
  })
})
