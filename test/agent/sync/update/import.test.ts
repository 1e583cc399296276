import { MAX_BUNDLE_BYTES, type Bundle } from '@palisade/protocol'
import { describe, expect, it } from 'vitest'
import { NOW_MS } from '../../fixture/bundle.ts'
import { packBundle } from '../../fixture/pack-bundle.ts'
import {
  expectKept,
  HOUR_MS,
  inForce,
  never,
  policies,
  request,
  setUp,
  wide,
  type Scene,
} from '../../fixture/sync-scene.ts'
import type { Served } from '../../fixture/pack-bundle.ts'
import {
  alter,
  createKeys,
  createRepository,
  OTHER_VIEW,
  type Release,
  type Repository,
} from '../../fixture/view-repository.ts'

const SECRET = { action: 'read', path: '/etc/passwd' }

const importServed = ({ synchronizer }: Scene, served: Served) =>
  synchronizer.import([packBundle(served)], never)

describe('a bundle file', () => {
  it('brings a policy to a machine that has never reached its server', async () => {
    const scene = await setUp()
    expect(scene.active.decide(request)).toMatchObject({ decision: 'deny', reason: 'no_policy' })

    const result = await importServed(scene, scene.repository.release({ policies }))

    expect(result).toMatchObject({ outcome: 'updated', revision: 7, error: null })
    expect(scene.active.state()).toBe('fresh')
    expect(scene.active.current()).toMatchObject({ source: 'file' })
    expect(scene.server.requests).toEqual([])
    expectKept(scene)
  })

  it('is still in force after the next start, and ages like every signed bundle', async () => {
    const first = await setUp()
    await importServed(first, first.repository.release({ policies }))

    const scene = await setUp(first.directory, first.repository)

    expectKept(scene)
    scene.setClock(NOW_MS + 25 * HOUR_MS)
    expect([scene.active.state(), scene.active.decide(request).decision]).toEqual([
      'stale',
      'allow',
    ])
    scene.setClock(NOW_MS + 8 * 24 * HOUR_MS)
    expect([scene.active.state(), scene.active.decide(request).decision]).toEqual([
      'expired',
      'deny',
    ])
  })

  it('follows rotated roots from the pinned one', async () => {
    const scene = await setUp()
    scene.repository.rotate(createKeys())
    scene.repository.rotate(createKeys())

    const result = await importServed(scene, scene.repository.release({ policies }))

    expect(result).toMatchObject({ outcome: 'updated', error: null })
    expectKept(scene)
  })

  it('and the server may bring newer policies after one another', async () => {
    const scene = await inForce()
    const { repository } = scene

    expect(await importServed(scene, repository.release({ policies, revision: 8 }))).toMatchObject({
      outcome: 'updated',
      revision: 8,
    })
    expect(await scene.sync(repository.release({ policies, revision: 9 }))).toMatchObject({
      outcome: 'updated',
      revision: 9,
    })
  })

  it('may be imported twice', async () => {
    const scene = await setUp()
    const served = scene.repository.release({ policies })
    await importServed(scene, served)

    expect(await importServed(scene, served)).toMatchObject({ outcome: 'unchanged', error: null })
    expectKept(scene)
  })

  it('does not readmit a revoked machine', async () => {
    const scene = await inForce()
    scene.active.apply({ kind: 'revoked' })

    await importServed(scene, scene.repository.release({ policies }))
    expect(scene.active.state()).toBe('revoked')

    const unreadable = scene.repository.release({ policies, custom: { schema: 2 } })
    await importServed(scene, unreadable)
    await importServed(scene, scene.repository.release({ policies }))
    expect(scene.active.state()).toBe('revoked')
  })

  it('in a form unknown to this version denies everything', async () => {
    const scene = await inForce()

    const result = await importServed(
      scene,
      scene.repository.release({ custom: { schema: 2 }, policies }),
    )

    expect(result).toMatchObject({ outcome: 'failed', error: { code: 'unsupported_policy' } })
    expect(scene.active.decide(request).reason).toBe('unsupported_policy')
  })
})

describe('the last good policy stays in force after a bundle file', () => {
  const released =
    (release: Release) =>
    ({ repository }: Scene): Served =>
      repository.release({ policies: wide, ...release })
  const other = (options: { org?: string } = {}): Repository =>
    createRepository('http://127.0.0.1:9', options)
  const served =
    (change: (served: Served) => Served) =>
    ({ repository }: Scene): Served =>
      change(repository.release({ policies: wide }))

  it.each<[string, (scene: Scene) => Served, string]>([
    [
      'older than the one in force',
      released({ revision: 6, atMs: NOW_MS - HOUR_MS }),
      'older_issue',
    ],
    [
      'signed by another organization',
      () => other({ org: 'evil' }).release({ policies: wide }),
      'wrong_organization',
    ],
    ['naming another organization', released({ org: 'evil' }), 'wrong_organization'],
    [
      'signed by unknown keys',
      () => other().release({ version: 9, policies: wide }),
      'bad_signature',
    ],
    ['for another machine', released({ assignment: { device_id: 'dev_2' } }), 'wrong_device'],
    ['for the machine of another user', released({ assignment: { user: 'eve' } }), 'wrong_user'],
    [
      'of another view',
      released({ view: OTHER_VIEW, assignment: { view: 'c'.repeat(32) } }),
      'wrong_view',
    ],
    ['that has expired', released({ atMs: NOW_MS - 25 * HOUR_MS }), 'expired'],
    ['from the future', released({ atMs: NOW_MS + HOUR_MS }), 'issued_in_future'],
    ['that would live for years', released({ lifeMs: 9_000 * HOUR_MS }), 'lives_too_long'],
    [
      'without its policy',
      served((all) => new Map([...all].filter(([path]) => !path.includes('/policies/')))),
      'truncated',
    ],
    [
      'without its snapshot',
      served((all) => new Map([...all].filter(([path]) => !path.includes('snapshot')))),
      'truncated',
    ],
    [
      'with another policy',
      served((all) => alter(all, /\/policies\//, (body) => body.replace('/**', '/*'))),
      'mixed',
    ],
    [
      'with a policy that is longer than listed',
      served((all) => alter(all, /\/policies\//, (body) => `${body} `)),
      'too_large',
    ],
    ['with an empty timestamp', served((all) => alter(all, /timestamp/, () => '')), 'empty'],
    [
      'with a huge timestamp',
      served((all) => alter(all, /timestamp/, (body) => body + ' '.repeat(20_000))),
      'too_large',
    ],
    [
      'with targets of other text',
      served((all) =>
        alter(all, /targets\.json$/, (body) => body.replace('"revision":7', '"revision":8')),
      ),
      'mixed',
    ],
  ])('%s', async (_what, make, code) => {
    const scene = await inForce()
    const { state } = scene.active
    const before = state()

    expect(await importServed(scene, make(scene))).toMatchObject({
      outcome: 'failed',
      revision: 7,
      error: { code },
    })
    // A file is no evidence about the server.
    expect(state()).toBe(before)
    expectKept(scene)
  })

  it('that is older than a view from the server', async () => {
    const scene = await setUp()
    const old = scene.repository.release({ policies: wide, revision: 6 })
    await scene.sync(scene.repository.release({ policies }))

    expect(await importServed(scene, old)).toMatchObject({
      outcome: 'failed',
      error: { code: 'older_version' },
    })
    expectKept(scene)
  })

  const text = (change: (text: string) => string) => (bundle: Buffer) =>
    Buffer.from(change(bundle.toString()))
  const packed = (change: (bundle: Bundle) => unknown) => (bundle: Buffer) =>
    Buffer.from(JSON.stringify(change(JSON.parse(bundle.toString()) as Bundle)))
  const withFile = (name: string, content: unknown = '{}') =>
    packed((bundle) => ({ ...bundle, files: { ...bundle.files, [name]: content } }))

  it.each<[string, (bundle: Buffer) => Buffer, string]>([
    ['that is empty', () => Buffer.alloc(0), 'malformed'],
    ['that is cut off', (bundle) => bundle.subarray(0, bundle.byteLength / 2), 'malformed'],
    ['that is not UTF-8', (bundle) => Buffer.concat([bundle, Buffer.from([0xff])]), 'malformed'],
    ['that is not an object', () => Buffer.from('[]'), 'malformed'],
    ['with endless nesting', () => Buffer.from('['.repeat(100_000)), 'malformed'],
    [
      'of another format',
      packed((bundle) => ({ ...bundle, format: 'palisade-bundle-2' })),
      'malformed',
    ],
    ['with a repeated member', text((all) => all.replace('{', '{"assignment":"{}",')), 'malformed'],
    ['with an additional member', packed((bundle) => ({ ...bundle, org: 'acme' })), 'malformed'],
    ['without an assignment', packed(({ assignment: _none, ...rest }) => rest), 'malformed'],
    [
      'with an invalid assignment',
      packed((bundle) => ({ ...bundle, assignment: '{}' })),
      'malformed',
    ],
    ['with files of another type', packed((bundle) => ({ ...bundle, files: [] })), 'malformed'],
    ['with a file of another type', withFile('metadata/timestamp.json', {}), 'malformed'],
    ['with a path upwards', withFile('../../state.json'), 'malformed'],
    ['with a path upwards in a name', withFile('targets/policies/../../x.json'), 'malformed'],
    ['with an absolute path', withFile('/etc/passwd'), 'malformed'],
    ['with a NUL in a path', withFile('metadata/timestamp.json\0.json'), 'malformed'],
    ['with a name that every object inherits', withFile('constructor'), 'malformed'],
    ['that is huge', () => Buffer.alloc(MAX_BUNDLE_BYTES + 1, ' '), 'too_large'],
  ])('%s', async (_what, change, code) => {
    const scene = await inForce()
    const bundle = packBundle(scene.repository.release({ policies: wide }))

    expect(await scene.synchronizer.import([change(bundle)], never)).toMatchObject({
      outcome: 'failed',
      revision: 7,
      error: { code },
    })
    expectKept(scene)
    expect(scene.active.decide(SECRET).decision).toBe('deny')
  })

  it('that arrives while the agent is stopping', async () => {
    const scene = await inForce()
    const bundle = packBundle(scene.repository.release({ policies: wide }))

    expect(await scene.synchronizer.import([bundle], AbortSignal.abort())).toMatchObject({
      error: { code: 'stopping' },
    })
    expectKept(scene)
  })
})
