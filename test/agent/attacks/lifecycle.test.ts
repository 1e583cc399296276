import { describe, expect, it } from 'vitest'
import { activePolicy } from '../fixture/active-policy.ts'
import {
  ask,
  DIALECTS,
  expectUntouched,
  openTunnelTo,
  RULES,
  startAttack,
} from '../fixture/attack-scene.ts'
import { bundleClaims, bundleOf, NOW_MS, policyOf, type RuleLine } from '../fixture/bundle.ts'
import { clientHello } from '../fixture/client-hello.ts'
import { get, openRaw, readAll, readUntil } from '../fixture/proxy.ts'
import { refuseKey } from '../fixture/policy-server.ts'
import { HOUR_MS, never, setUp, type Scene } from '../fixture/sync-scene.ts'
import { alter, createRepository } from '../fixture/view-repository.ts'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const POLICIES = [policyOf(...RULES)]
const TARGET = { action: 'connect:tcp', host: 'x.allowed.test', port: 443, address: '198.51.100.1' }
const OPEN: readonly RuleLine[] = [['allow', 'connect:tcp', '0.0.0.0/0', '**']]

/** A machine that enforces the rules of the attack cases. */
async function inForce(): Promise<Scene> {
  const scene = await setUp()
  expect((await scene.sync(scene.repository.release({ policies: POLICIES }))).outcome).toBe(
    'updated',
  )
  return scene
}

function expectKept({ active }: Scene): void {
  expect(active.decide(TARGET)).toMatchObject({ decision: 'allow', revision: 7 })
  expect(active.decide({ ...TARGET, host: 'evil.test' }).decision).toBe('deny')
}

describe('case 95: a bundle that is missing or not good', () => {
  it.each(DIALECTS)('case 95: without a policy everything is denied in %s', async (dialect) => {
    const policy = { ...activePolicy(), use: () => {} }
    const scene = await startAttack({ policy })
    for (const host of ['allowed.test', 'x.allowed.test', '198.51.100.1'])
      expect(await ask(scene, dialect, host)).toBe('denied')
    expectUntouched(scene)
    expect(new Set(scene.decisions.map(({ reason }) => reason))).toEqual(new Set(['no_policy']))
  })

  it('case 95: a corrupt cache denies everything', async () => {
    const { directory, repository } = await inForce()
    for (const name of ['state.json', 'state.previous.json'])
      await writeFile(join(directory, name), '{"policy":')
    const restarted = await setUp(directory, repository)
    expect(restarted.active.decide(TARGET)).toMatchObject({ decision: 'deny', reason: 'no_policy' })
  })

  it.each([
    [
      'a wrong signature',
      (scene: Scene) =>
        scene.sync(createRepository().release({ policies: [policyOf(...OPEN)], version: 2 })),
    ],
    [
      'a changed byte',
      (scene: Scene) =>
        scene.sync(
          alter(
            scene.repository.release({ policies: [policyOf(...OPEN)] }),
            /targets\/policies/,
            (text) => text.replace('**', '*'),
          ),
        ),
    ],
    [
      'a lower version',
      async (scene: Scene) => {
        await scene.sync(scene.repository.release({ policies: POLICIES }))
        return scene.sync(scene.repository.release({ policies: [policyOf(...OPEN)], version: 1 }))
      },
    ],
    [
      'another organization',
      (scene: Scene) =>
        scene.sync(scene.repository.release({ policies: [policyOf(...OPEN)], org: 'rival' })),
    ],
  ])('case 95: %s is refused, and the last good bundle stays', async (_title, offer) => {
    const scene = await inForce()
    expect((await offer(scene)).outcome).toBe('failed')
    expectKept(scene)
  })
})

describe('case 96: an expired bundle', () => {
  it('case 96: ends live tunnels and new ones, whatever the clock shows', async () => {
    const policy = activePolicy()
    const scene = await startAttack({ policy, idleMs: 60_000 })
    const tunnel = await openTunnelTo(scene, 'x.allowed.test')
    policy.surroundings.nowMs = NOW_MS + 8 * 24 * HOUR_MS
    policy.active.apply({ kind: 'unchanged' })
    expect(await tunnel.rest()).toHaveLength(0)
    await expect
      .poll(() => scene.ends)
      .toMatchObject([{ flow: { cause: 'revoked' }, decision: { reason: 'policy_expired' } }])
    policy.surroundings.nowMs = NOW_MS
    for (const dialect of DIALECTS)
      expect(await ask(scene, dialect, 'x.allowed.test')).toBe('denied')
    expect(scene.dialled).toHaveLength(1)
  })
})

describe('case 97: a server that fails', () => {
  it.each<[string, Scene['server']['answer']]>([
    ['that answers 500', (_request, response) => response.writeHead(500).end()],
    [
      'that answers HTML',
      (_request, response) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>'),
    ],
    [
      'that answers endlessly',
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.on('error', () => {})
        const more = (): void => {
          while (response.writable && response.write(Buffer.alloc(1 << 20)));
          response.once('drain', more)
        }
        more()
      },
    ],
    [
      'that redirects to HTTP',
      (_request, response) => response.writeHead(302, { location: 'http://evil.test/' }).end(),
    ],
    ['that closes', (request) => request.socket.destroy()],
  ])('case 97: %s leaves the last good bundle in force', async (_title, answer) => {
    const scene = await inForce()
    scene.server.answer = answer
    expect((await scene.synchronizer.run(never)).outcome).toBe('failed')
    expectKept(scene)
  })
})

describe('case 98: a revoked device', () => {
  it('case 98: keeps its last good bundle until it expires, as documented', async () => {
    const scene = await inForce()
    scene.server.answer = refuseKey
    scene.server.answerToken = refuseKey
    expect((await scene.synchronizer.run(never)).error?.code).toBe('revoked')
    expect(scene.active.state()).toBe('revoked')
    expectKept(scene)
    scene.setClock(NOW_MS + 8 * 24 * HOUR_MS)
    expect(scene.active.decide(TARGET).reason).toBe('policy_expired')
  })
})

describe('case 99: a tightened policy', () => {
  const denied = bundleOf(...RULES, ['deny', 'connect:tcp', 'x.allowed.test'])

  it.each(['connect', 'socks5'] as const)(
    'case 99: closes a tunnel of %s at once',
    async (dialect) => {
      const scene = await startAttack({ idleMs: 60_000 })
      const tunnel = await openTunnelTo(scene, 'x.allowed.test', 443, dialect)
      const spared = await openTunnelTo(scene, 'there.allowed.test', 443, dialect)
      const flight = clientHello({ serverName: 'x.allowed.test' })
      tunnel.socket.write(flight)
      await expect.poll(() => scene.received()).toBe(flight.toString('latin1'))
      scene.use(denied)
      await tunnel.rest()
      await expect.poll(() => scene.ends).toMatchObject([{ flow: { cause: 'revoked' } }])
      expect(scene.live.size()).toBe(1)
      expect(spared.socket.destroyed).toBe(false)
    },
  )

  it('case 99: ends a download', async () => {
    const scene = await startAttack({
      greeting: 'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nstart',
    })
    const socket = await openRaw(scene.port, get('x.allowed.test:443'))
    await readUntil(socket, 'start')
    scene.use(denied)
    expect(await readAll(socket)).toBe('')
    expect(scene.live.size()).toBe(0)
  })
})

describe('case 100: a flood of policy changes', () => {
  it('case 100: never denies what all allow, nor allows what all deny', async () => {
    const scene = await startAttack()
    const over = new AbortController()
    const change = async (): Promise<void> => {
      for (let revision = 8; !over.signal.aborted; revision += 1) {
        const extra: RuleLine = ['allow', 'connect:tcp', `r${revision}.allowed.test`]
        scene.use({ ...bundleOf(...RULES, extra), revision })
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    const flood = change()
    for (let round = 0; round < 20; round += 1) {
      const outcomes = await Promise.all(
        DIALECTS.flatMap((dialect) =>
          ['x.allowed.test', 'evil.test', 'bad.allowed.test'].map((host) =>
            ask(scene, dialect, host),
          ),
        ),
      )
      const each = ['granted', 'denied', 'denied']
      expect(outcomes).toEqual([...each, ...each, ...each])
    }
    over.abort()
    await flood
    expect(new Set(scene.resolved)).toEqual(new Set(['x.allowed.test']))
  })
})

describe('case 101: a bundle that is not understood', () => {
  it.each<[string, RuleLine]>([
    ['an unknown action', ['allow', 'connect:icmp' as 'connect:tcp', '**']],
    ['an invalid pattern', ['allow', 'connect:tcp', 'a..b']],
    ['a range with host bits', ['allow', 'connect:tcp', '10.0.0.1/8']],
    ['an unknown decision', ['permit' as 'allow', 'connect:tcp', '**']],
  ])('case 101: %s lets no rule of it into force', async (_title, rule) => {
    const scene = await inForce()
    const offered = [policyOf(['allow', 'connect:tcp', 'evil.test'], rule)]
    const answer = await scene.sync(scene.repository.release({ policies: offered, revision: 8 }))
    expect(answer.outcome).toBe('failed')
    expect(scene.active.decide({ ...TARGET, host: 'evil.test' }).decision).toBe('deny')
  })

  it('case 101: an empty list of rules denies everything', async () => {
    const scene = await startAttack()
    scene.use({ ...bundleClaims(), revision: 8 })
    for (const dialect of DIALECTS) expect(await ask(scene, dialect, 'allowed.test')).toBe('denied')
    expectUntouched(scene)
  })
})

describe('case 102: an agent that ends', () => {
  it('case 102: takes its tunnels with it, and accepts no connection', async () => {
    const scene = await startAttack({ idleMs: 60_000 })
    const tunnel = await openTunnelTo(scene, 'x.allowed.test')
    await scene.stop()
    expect(await tunnel.rest()).toHaveLength(0)
    await expect(openRaw(scene.port, get('x.allowed.test:443'))).rejects.toThrow('ECONNREFUSED')
  })
})
