import { chmod, readFile, rm, writeFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  createSpentGrants,
  type SpentGrants,
} from '../../../../agent/src/grants/access/spent-grants.ts'
import { grant, idOf } from '../../fixture/access-grant.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { bundleClaims, bundleOf, NOW_MS } from '../../fixture/bundle.ts'
import {
  connectTo,
  openRaw,
  readAll,
  readUntil,
  startProxy,
  startTcpServer,
} from '../../fixture/proxy.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

const NAMES = { 'api.test': ['192.0.2.1', '2001:db8::1'], 'b.test': ['192.0.2.2'] }
const CONNECT = 'CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n'
const ONCE = grant({ once: true })

async function ledger(directory?: string): Promise<SpentGrants & { readonly directory: string }> {
  const place = directory ?? join(await temporaryDirectory(), 'access')
  const spent = createSpentGrants({ directory: place, now: () => NOW_MS + 1000 })
  await spent.restore()
  return { ...spent, directory: place }
}

/** A proxy whose every dial reaches a server that greets. */
async function start(bundle = bundleClaims({ grants: [ONCE] }), directory?: string) {
  const spent = await ledger(directory)
  const servers: Socket[] = []
  const reroutedTo = await startTcpServer((socket) => {
    servers.push(socket)
    socket.write('hello')
  })
  const policy = activePolicy({ spent })
  const proxy = await startProxy(bundle, NAMES, 100, { reroutedTo, spent }, policy)
  /** Reads until the server greets or the proxy ends the connection. */
  const ask = async (text = CONNECT): Promise<string> => {
    let received = ''
    for await (const chunk of (await openRaw(proxy.port, text)) as AsyncIterable<string>) {
      received += chunk
      if (received.includes('hello')) break
    }
    return received
  }
  return { ...proxy, ...policy, spent, ask, servers }
}

describe('a grant for one use', () => {
  it('allows one connection, which goes on, and no second', async () => {
    const scene = await start()
    const first = await openRaw(scene.port, CONNECT)
    await readUntil(first, 'hello')

    expect(await scene.ask()).toMatch(/^HTTP\/1\.1 403 /)

    first.write('ping')
    await expect.poll(() => scene.servers[0]?.bytesRead).toBe(4)
    expect(scene.live.size()).toBe(1)
    expect(scene.decisions).toMatchObject([
      { decision: 'allow', rules: [{ rule_id: ONCE.id, origin: 'grant' }] },
      { decision: 'deny', reason: 'default_deny' },
    ])
  })

  it('allows exactly one of many connections at a time', async () => {
    // Of one address: a second one is tried beside a first that is slow.
    const once = grant({ once: true, resources: ['b.test:443'] })
    const scene = await start(bundleClaims({ grants: [once] }))

    const ask = () => scene.ask(connectTo('b.test:443'))
    const answers = await Promise.all(Array.from({ length: 20 }, ask))

    expect(answers.filter((answer) => answer.includes('hello'))).toHaveLength(1)
    expect(answers.filter((answer) => answer.startsWith('HTTP/1.1 403 '))).toHaveLength(19)
    expect(scene.dialled).toHaveLength(1)
    expect(scene.errors).toEqual([])
  })

  it('stays spent over a restart, also where only one copy of the ledger is left', async () => {
    const before = await start()
    expect(await before.ask()).toContain('hello')
    await before.stop()

    for (const lost of ['none.json', 'spent.json']) {
      await rm(join(before.spent.directory, lost), { force: true })
      const later = await start(undefined, before.spent.directory)
      expect(await later.ask()).toMatch(/^HTTP\/1\.1 403 /)
    }
  })

  it('is spent on disk before its connection is dialled', async () => {
    const scene = await start()
    const kept: string[] = []
    const spend: SpentGrants['spend'] = async (given) => {
      const isFirst = await scene.spent.spend(given)
      kept.push(await readFile(join(scene.spent.directory, 'spent.previous.json'), 'utf8'))
      expect(scene.dialled).toEqual([])
      return isFirst
    }
    const policy = activePolicy({ spent: scene.spent })
    const options = { spent: { ...scene.spent, spend }, reroutedTo: 1 }
    const proxy = await startProxy(bundleClaims({ grants: [ONCE] }), NAMES, 9, options, policy)

    await readAll(await openRaw(proxy.port, CONNECT))

    expect(kept).toEqual([expect.stringContaining(ONCE.id)])
    expect(proxy.dialled).toHaveLength(2)
  })

  it('is not spent by a connection that a rule, another grant or observing allows', async () => {
    const rules = bundleOf(['allow', 'connect:tcp', 'api.test'])
    const settings = { resolve_unlisted_names: false, offline_allow: [], default: 'observe' }
    for (const bundle of [
      { ...rules, grants: [ONCE] },
      bundleClaims({ grants: [ONCE, grant({ id: idOf('b'), resources: ['*.test'] })] }),
      bundleClaims({ grants: [ONCE], settings }),
    ]) {
      const scene = await start(bundle)

      expect(await scene.ask()).toContain('hello')
      expect(await scene.ask()).toContain('hello')
      expect(scene.spent.among([ONCE])).toEqual(new Set())
    }
  })

  it('is alone spent of two that allow the same connection', async () => {
    const other = grant({ id: idOf('b'), once: true, resources: ['*.test'] })
    const scene = await start(bundleClaims({ grants: [ONCE, other] }))

    expect(await scene.ask()).toContain('hello')
    expect(scene.spent.among([ONCE, other]).size).toBe(1)
    expect(await scene.ask()).toContain('hello')
    expect(await scene.ask()).toMatch(/^HTTP\/1\.1 403 /)
  })

  it('is not spent by a connection that is denied', async () => {
    const denied = { ...bundleOf(['deny', 'connect:tcp', '192.0.2.0/24', '2001:db8::/32']) }
    const scene = await start({ ...denied, grants: [ONCE] })

    expect(await scene.ask()).toMatch(/^HTTP\/1\.1 403 /)
    expect(scene.spent.among([ONCE])).toEqual(new Set())
  })

  it('closes its connection when it is revoked or ends by time', async () => {
    for (const end of ['revoked', 'expired']) {
      const scene = await start()
      const socket = await openRaw(scene.port, CONNECT)
      await readUntil(socket, 'hello')

      if (end === 'revoked') scene.use(bundleClaims())
      else {
        scene.surroundings.nowMs = Date.parse(ONCE.expires_at)
        scene.active.state()
      }

      await expect.poll(() => scene.ends).toMatchObject([{ flow: { cause: 'revoked' } }])
    }
  })

  it('allows nothing when its use cannot be kept', async () => {
    const directory = join(await temporaryDirectory(), 'access')
    const scene = await start(undefined, directory)
    await writeFile(directory, 'a file')

    expect(await scene.ask()).toMatch(/^HTTP\/1\.1 403 /)
    expect(scene.dialled).toEqual([])
    expect(scene.errors).toHaveLength(1)
  })

  it('is spent by one plain request', async () => {
    const scene = await start(
      bundleClaims({ grants: [grant({ once: true, resources: ['api.test'] })] }),
    )
    const request = 'GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n'

    await scene.ask(request)
    // One request may dial both addresses of its name.
    const dialled = [...scene.dialled]

    expect(await scene.ask(request)).toMatch(/^HTTP\/1\.1 403 /)
    expect(dialled.length).toBeGreaterThan(0)
    expect(scene.dialled).toEqual(dialled)
  })
})

describe('a ledger that cannot be read', () => {
  it('counts every grant for one use that has begun as spent, and others not', async () => {
    const { directory, spend } = await ledger()
    await spend(grant({ id: idOf('c'), once: true }))
    for (const name of ['spent.json', 'spent.previous.json'])
      await writeFile(join(directory, name), '{')
    const later = grant({ id: idOf('d'), once: true, not_before: '2026-11-22T12:00:00Z' })
    const grants = [ONCE, later, grant({ id: idOf('e') })]

    for (const spent of [await ledger(directory), await ledger(directory)])
      expect(spent.among(grants)).toEqual(new Set([ONCE.id]))
  })

  it('takes the word of the good copy when one is damaged or open to others', async () => {
    const { directory, spend } = await ledger()
    await spend(grant({ id: idOf('c'), once: true }))
    await writeFile(join(directory, 'spent.json'), '{')
    const damaged = await ledger(directory)
    await chmod(join(directory, 'spent.json'), 0o666)
    const open = await ledger(directory)

    for (const spent of [damaged, open])
      expect(spent.among([ONCE, grant({ id: idOf('c'), once: true })])).toEqual(
        new Set([idOf('c')]),
      )
  })
})
