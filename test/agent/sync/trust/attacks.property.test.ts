import { describe, expect, it } from 'vitest'
import { NOW_MS, policyOf } from '../../fixture/bundle.ts'
import { refuseKey, type PolicyServer } from '../../fixture/policy-server.ts'
import {
  expectKept,
  HOUR_MS,
  inForce,
  never,
  policies,
  setUp,
  wide,
} from '../../fixture/sync-scene.ts'
import type { Served } from '../../fixture/pack-bundle.ts'
import { casesOfRun } from '../../../lanes/run-size.ts'
import {
  alter,
  createKeys,
  OTHER_VIEW,
  VIEW,
  type Repository,
} from '../../fixture/view-repository.ts'

const ENDLESS_ANSWERS = casesOfRun(20)
const TIMESTAMP = /timestamp\.json$/
const ASSIGNMENT = '/api/v1/device/view'
const DOCUMENT = /\/targets\/policies\//

describe('the last good policy stays in force after', () => {
  const json = { 'content-type': 'application/json' }
  const html: PolicyServer['answer'] = (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>')
  const truncated: PolicyServer['answer'] = (_request, response) => {
    response.writeHead(200, { ...json, 'content-length': 1000 })
    response.write('abc', () => response.destroy())
  }
  const status =
    (code: number, headers = {}): PolicyServer['answer'] =>
    (_request, response) =>
      response.writeHead(code, headers).end('{}')
  const body =
    (text: string): PolicyServer['answer'] =>
    (_request, response) =>
      response.writeHead(200, json).end(text)
  const endless: PolicyServer['answer'] = (_request, response) => {
    response.writeHead(200, json)
    const timer = setInterval(() => response.write('x'.repeat(262_144)), 1)
    response.on('close', () => clearInterval(timer))
  }

  const drip: PolicyServer['answer'] = (_request, response) => {
    response.writeHead(200, json)
    const timer = setInterval(() => response.write(' '), 20)
    response.on('close', () => clearInterval(timer))
  }

  it.each([
    ['an HTML page', html, 'foreign_answer'],
    ['an HTML page that is called JSON', body('<html></html>'), 'foreign_answer'],
    ['an empty answer', body(''), 'empty'],
    ['an answer that is too large', body('x'.repeat(16_385)), 'too_large'],
    ['an endless answer', endless, 'too_large'],
    ['an answer that breaks off', truncated, 'truncated'],
    ['a redirect', status(302, { location: 'http://127.0.0.1:1/' }), 'redirected'],
    ['401', refuseKey, 'unauthorized'],
    ['401 without the error envelope', status(401), 'foreign_answer'],
    ['404', status(404), 'http_status'],
    ['500', status(500), 'http_status'],
    ['silence', () => {}, 'timeout'],
    ['one byte at a time', drip, 'timeout'],
  ])('%s', async (_what, answer, code) => {
    const scene = await inForce()
    scene.server.answer = answer
    if (code === 'timeout') scene.setPatience(500)

    expect(await scene.synchronizer.run(never)).toMatchObject({
      outcome: 'failed',
      revision: 7,
      error: { code },
    })
    expectKept(scene)
  })

  it('endless answers, each of which is cut off', async () => {
    const scene = await inForce()
    let [begun, ended] = [0, 0]
    scene.server.answer = (asked, response) => {
      begun += 1
      response.on('close', () => (ended += 1))
      endless(asked, response)
    }

    for (let count = 0; count < ENDLESS_ANSWERS; count += 1) await scene.synchronizer.run(never)

    expect(begun).toBe(ENDLESS_ANSWERS)
    await expect.poll(() => ended).toBe(ENDLESS_ANSWERS)
    expectKept(scene)
  })

  it('an unrequested 304', async () => {
    const { server, synchronizer, active } = await setUp()
    server.answer = status(304)

    const { error } = await synchronizer.run(never)

    expect(error?.code).toBe('not_modified_without_bundle')
    expect(active.state()).toBe('never_loaded')
  })

  const thief = createKeys()
  const forged = (signed: Served): Served =>
    alter(signed, TIMESTAMP, (text) => text.replace(/"version":\d+/, '"version":99'))
  const signTwice =
    (other: string) =>
    (text: string): string => {
      const file = JSON.parse(text) as { signatures: { sig: string }[]; signed: unknown }
      const again = file.signatures.map(({ sig }) => ({ keyid: other, sig }))
      return JSON.stringify({ ...file, signatures: [...file.signatures, ...again] })
    }
  /** Signed content of one release under the accepted signatures of the previous one. */
  const underFormerSignatures = (its: Repository, path: RegExp): Served => {
    const former = its.release({ version: 3, policies })
    const next = its.release({ version: 4, policies: wide })
    const [, signed = ''] = [...former].find(([each]) => path.test(each)) ?? []
    const { signatures } = JSON.parse(signed) as { signatures: unknown }
    return alter(next, path, (text) => JSON.stringify({ ...JSON.parse(text), signatures }))
  }
  const stolenOnline = ({ keys }: Repository) => ({ ...thief, online: keys.online })

  /**
   * Everything that an attacker on the network can have or make, against a machine at version 3.
   */
  const ATTACKS: readonly [string, string, (repository: Repository) => Served][] = [
    ['a timestamp with another version', 'bad_signature', (its) => forged(its.release())],
    [
      'a timestamp under a signature accepted for another',
      'bad_signature',
      (its) => underFormerSignatures(its, TIMESTAMP),
    ],
    [
      'an assignment under a signature accepted for another',
      'bad_signature',
      (its) => {
        const believed = its.release({ version: 3, policies }).get(ASSIGNMENT) ?? ''
        const forgedText = believed.replace('"expires":"2', '"expires":"3')
        expect(forgedText).not.toBe(believed)
        return alter(its.release({ version: 4, policies: wide }), /device\/view$/, () => forgedText)
      },
    ],
    ['unknown keys', 'bad_signature', (its) => its.release({ keys: thief, policies: wide })],
    [
      'a stolen online key alone, which cannot sign another policy',
      'bad_signature',
      (its) => its.release({ keys: stolenOnline(its), policies: wide }),
    ],
    ['an old release', 'older_version', (its) => its.release({ version: 2, policies: wide })],
    [
      'a timestamp that has expired',
      'expired',
      (its) => its.release({ atMs: NOW_MS - 25 * HOUR_MS, policies: wide }),
    ],
    [
      'a timestamp that would live for years',
      'lives_too_long',
      (its) => its.release({ lifeMs: 9_000 * 24 * HOUR_MS, policies: wide }),
    ],
    [
      'a timestamp of tomorrow',
      'issued_in_future',
      (its) => its.release({ atMs: NOW_MS + 24 * HOUR_MS, policies: wide }),
    ],
    ['version 2^53', 'malformed', (its) => its.release({ version: 2 ** 53, policies: wide })],
    [
      'the largest version that a number holds exactly',
      'malformed',
      (its) => its.release({ version: Number.MAX_SAFE_INTEGER, policies: wide }),
    ],
    [
      'a timestamp that expires in the year 9999',
      'lives_too_long',
      (its) => its.release({ lifeMs: Date.parse('9999-12-31T23:59:59Z') - NOW_MS, policies: wide }),
    ],
    [
      'documents by MD5 alone',
      'malformed',
      (its) =>
        its.release({
          policies: wide,
          listing: (text) => text.replace(/"sha256":"[0-9a-f]{64}"/, `"md5":"${'0'.repeat(32)}"`),
        }),
    ],
    [
      'documents by MD5 as well',
      'malformed',
      (its) =>
        its.release({
          policies: wide,
          listing: (text) => text.replace('"sha256"', `"md5":"${'0'.repeat(32)}","sha256"`),
        }),
    ],
    [
      'a view of another team, assigned to another device',
      'wrong_device',
      (its) =>
        its.release({ view: OTHER_VIEW, policies: wide, assignment: { device_id: 'dev_2' } }),
    ],
    [
      'a view assigned to another user',
      'wrong_user',
      (its) => its.release({ view: OTHER_VIEW, policies: wide, assignment: { user: 'mallory' } }),
    ],
    [
      'a view of another team under the name of its own',
      'wrong_view',
      (its) => {
        const other = its.release({ view: OTHER_VIEW, policies: wide })
        const own = its.release({ policies })
        return new Map([
          ...[...other].map(([path, text]) => [path.replace(OTHER_VIEW, VIEW), text] as const),
          ['/api/v1/device/view', own.get('/api/v1/device/view') ?? ''],
        ])
      },
    ],
    [
      'an earlier assignment',
      'older_issue',
      (its) => its.release({ assignedAtMs: NOW_MS - 2 * HOUR_MS, policies: wide }),
    ],
    [
      'another organization',
      'wrong_organization',
      (its) => its.release({ org: 'rival', policies: wide }),
    ],
    [
      'targets of one release under the snapshot of another',
      'mixed',
      (its) => {
        const first = its.release({ policies: wide })
        const second = its.release({ policies })
        const targets = [...first].find(([path]) => path.endsWith('targets.json'))?.[1] ?? ''
        return alter(second, /targets\.json$/, () => targets)
      },
    ],
    [
      'another document',
      'mixed',
      (its) =>
        alter(its.release({ policies: wide }), DOCUMENT, (text) => text.replace('/**', '/*x')),
    ],
    [
      'a document that is longer than listed',
      'too_large',
      (its) => alter(its.release({ policies: wide }), DOCUMENT, (text) => `${text} `),
    ],
    [
      'a document that is missing',
      'http_status',
      (its) =>
        new Map([...its.release({ policies: wide })].filter(([path]) => !DOCUMENT.test(path))),
    ],
    [
      'a document with a misplaced name',
      'malformed',
      (its) => its.release({ policies: wide, entry: () => 'policies/../../state.json' }),
    ],
    [
      'a policy that does not compile',
      'not_compilable',
      (its) => its.release({ policies: [policyOf(['allow', 'connect:tcp', '10.0.0.1/8'])] }),
    ],
    [
      'a new root that the old one has not signed',
      'bad_signature',
      (its) => {
        its.rotate(thief, [thief])
        return its.release({ policies: wide })
      },
    ],
    [
      'a new root with one key under two names where it requires two keys',
      'bad_signature',
      (its) => {
        const other = 'f'.repeat(64)
        its.rotate(its.keys, undefined, ({ keys, roles }) => {
          const [own = ''] = roles['timestamp']?.keyids ?? []
          keys[other] = keys[own]
          roles['timestamp'] = { keyids: [own, other], threshold: 2 }
        })
        return alter(its.release({ policies: wide }), TIMESTAMP, signTwice(other))
      },
    ],
    [
      'a new root that has not signed itself',
      'bad_signature',
      (its) => {
        its.rotate(thief, [its.keys])
        return its.release({ policies: wide })
      },
    ],
  ]

  it.each(ATTACKS)('%s', async (_what, code, attack) => {
    const scene = await inForce()
    for (let version = 2; version <= 3; version += 1)
      await scene.sync(scene.repository.release({ policies }))

    const outcome = await scene.sync(attack(scene.repository))

    expect(outcome).toMatchObject({ outcome: 'failed', revision: 7, error: { code } })
    expectKept(scene)
    // The disk holds no trace of the attack either.
    const restarted = await setUp(scene.directory, scene.repository)
    expectKept(restarted)
  })

  const withoutRoots = ATTACKS.filter(([what]) => !what.startsWith('a new root'))

  it.each(withoutRoots)('%s, which blocks no honest policy', async (_what, _code, attack) => {
    const scene = await inForce()
    for (let version = 2; version <= 3; version += 1)
      await scene.sync(scene.repository.release({ policies }))
    await scene.sync(attack(scene.repository))

    const honest = scene.repository.release({ policies, version: 100, revision: 8 })

    expect(await scene.sync(honest)).toMatchObject({ outcome: 'updated', error: null })
  })
})

describe('keys', () => {
  it.each(['constructor', '__proto__', 'toString'])(
    'are followed past a root that names one `%s`, which it lacks',
    async (name) => {
      const { repository, sync } = await inForce()
      repository.rotate(repository.keys, undefined, ({ roles }) => {
        roles['timestamp']?.keyids.push(name)
      })

      expect(await sync(repository.release({ policies: wide, revision: 8 }))).toMatchObject({
        outcome: 'updated',
        error: null,
      })
    },
  )

  it('are followed through any number of roots, even by a machine that was offline', async () => {
    const { repository, sync, directory } = await inForce()
    for (let root = 2; root <= 5; root += 1) repository.rotate(createKeys())

    expect(await sync(repository.release({ policies: wide, revision: 8 }))).toMatchObject({
      outcome: 'updated',
      error: null,
    })
    const restarted = await setUp(directory, repository)
    expect(restarted.active.decide({ action: 'read', path: '/etc/x' }).decision).toBe('allow')
  })

  it('are not followed across a missing root', async () => {
    const scene = await inForce()
    const { repository, sync } = scene
    for (let root = 2; root <= 3; root += 1) repository.rotate(createKeys())
    const served = repository.release({ policies: wide, revision: 8 })

    const gap = new Map([...served].filter(([path]) => !path.endsWith('/2.root.json')))
    expect(await sync(gap)).toMatchObject({ error: { code: 'bad_signature' } })
    expectKept(scene)

    expect(await sync(served)).toMatchObject({ outcome: 'updated', revision: 8 })
  })

  it('are followed through at most 32 roots at a time', async () => {
    const scene = await inForce()
    const { repository, sync, server } = scene
    for (let root = 2; root <= 40; root += 1)
      repository.rotate({ ...createKeys(), root: repository.keys.root })
    const served = repository.release({ policies: wide, revision: 8 })
    server.requests.length = 0

    expect(await sync(served)).toMatchObject({ error: { code: 'bad_signature' } })
    expectKept(scene)
    const asked = server.requests.filter(({ url = '' }) => url.endsWith('.root.json'))
    expect(asked).toEqual([])

    expect(await sync(served)).toMatchObject({ outcome: 'updated', revision: 8 })
  })

  it('are replaced by a new root, even when the rest of the answer is invalid', async () => {
    const scene = await inForce()
    const { repository, sync, directory } = scene
    const stolen = repository.keys
    const next = { ...createKeys(), root: stolen.root }
    repository.rotate(next)
    expect(await sync(repository.release({ keys: stolen, policies: wide }))).toMatchObject({
      error: { code: 'bad_signature' },
    })
    expectKept(scene)

    const restarted = await setUp(directory, repository)
    expect(
      await restarted.sync(repository.release({ keys: stolen, policies: wide })),
    ).toMatchObject({ error: { code: 'bad_signature' } })
    expectKept(restarted)
    expect(await restarted.sync(repository.release({ policies, revision: 8 }))).toMatchObject({
      outcome: 'updated',
    })
  })
})

describe('after a theft of the online keys', () => {
  it('a machine recovers with a new root from the highest possible versions', async () => {
    const scene = await inForce()
    const { repository, sync, active } = scene
    await sync(repository.release({ version: 2 ** 48, policies: wide, revision: 8 }))
    expect(active.decide({ action: 'read', path: '/etc/x' }).decision).toBe('allow')
    expect(await sync(repository.release({ version: 3, policies }))).toMatchObject({
      error: { code: 'older_version' },
    })

    repository.rotate({ ...createKeys(), root: repository.keys.root })

    expect(await sync(repository.release({ version: 4, policies, revision: 9 }))).toMatchObject({
      outcome: 'updated',
      revision: 9,
    })
    expect(active.decide({ action: 'read', path: '/etc/x' }).decision).toBe('deny')
  })

  it('a machine recovers when the thief has used the very next versions', async () => {
    const { repository, sync, active } = await inForce()
    await sync(repository.release({ version: 9, policies: wide, revision: 8 }))
    repository.rotate({ ...createKeys(), root: repository.keys.root })
    const honest = repository.release({ version: 9, policies, revision: 9 })

    expect(await sync(honest)).toMatchObject({ outcome: 'updated', revision: 9 })
    expect(active.decide({ action: 'read', path: '/etc/x' }).decision).toBe('deny')
  })
})
