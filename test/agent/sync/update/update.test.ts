import { MAX_UPDATE_BYTES, UPDATE_PATH, type Bundle } from '@palisade/protocol'
import { describe, expect, it } from 'vitest'
import { policyOf } from '../../fixture/bundle.ts'
import { packBundle, type Served } from '../../fixture/pack-bundle.ts'
import { expectKept, inForce, never, policies, type Scene } from '../../fixture/sync-scene.ts'
import { createKeys, serve, tagOfTimestamp } from '../../fixture/view-repository.ts'

/** Answers update requests with the result of `change`, and all others unchanged. */
function serveChanged(
  { server }: Scene,
  served: Served,
  change: (bundle: Bundle) => unknown,
): string[] {
  const asked: string[] = []
  const others = serve(served)
  server.answer = (request, response) => {
    const { url = '' } = request
    if (!url.startsWith(UPDATE_PATH)) {
      asked.push(url.slice(url.lastIndexOf('/') + 1))
      others(request, response)
      return
    }
    const body = packBundle(served, change)
    response.writeHead(200, { 'content-type': 'application/json', etag: '"tag"' }).end(body)
  }
  return asked
}

const without =
  (name: RegExp) =>
  (bundle: Bundle): Bundle => {
    const files = Object.entries(bundle.files).filter(([each]) => !name.test(each))
    return { ...bundle, files: Object.fromEntries(files) }
  }

describe('an update in one answer', () => {
  const other = { ...policyOf(['allow', 'read', '/other/**']), id: 'pol_2' }

  it('is completed by separate requests', async () => {
    const scene = await inForce()
    const served = scene.repository.release({ policies: [...policies, other], revision: 8 })
    const asked = serveChanged(scene, served, without(/pol_2|snapshot/))

    expect(await scene.synchronizer.run(never, true)).toMatchObject({ revision: 8, error: null })

    expect(asked).toEqual(['2.snapshot.json', expect.stringMatching(/^[0-9a-f]{64}\.pol_2\.json$/)])
    expect(scene.active.decide({ action: 'read', path: '/other/x' }).decision).toBe('allow')
  })

  it('with the tag of a newer one does not block that one', async () => {
    const scene = await inForce()
    const served = scene.repository.release({ policies, revision: 8 })
    const newer = scene.repository.release({ policies: [...policies, other], revision: 9 })
    const text = packBundle(served, (bundle) => bundle)
    scene.server.answer = (_request, response) => {
      const headers = { 'content-type': 'application/json', etag: tagOfTimestamp(newer) }
      response.writeHead(200, headers).end(text)
    }
    expect(await scene.synchronizer.run(never, true)).toMatchObject({ revision: 8, error: null })

    expect(await scene.sync(newer)).toMatchObject({ outcome: 'updated', revision: 9 })
    expect(await scene.sync(newer)).toMatchObject({ outcome: 'unchanged', revision: 9 })
  })

  const damage = (bundle: Bundle): Bundle => {
    const damaged = Object.entries(bundle.files).map(([name, text]): [string, string] => [
      name,
      name.startsWith('targets/') ? text.replace('/data/', '/dat%/') : text,
    ])
    return { ...bundle, files: Object.fromEntries(damaged) }
  }
  const reassign =
    (of: string, to: string) =>
    (bundle: Bundle): Bundle => ({ ...bundle, assignment: bundle.assignment.replace(of, to) })

  it.each([
    ['of another device', reassign('dev_1', 'dev_2'), 'wrong_device'],
    ['of another organization', reassign('"acme"', '"evil"'), 'wrong_organization'],
    ['for another user', reassign('"alice"', '"mallory"'), 'bad_signature'],
    ['with another policy', damage, 'mixed'],
    ['with an additional member', (bundle: Bundle) => ({ ...bundle, more: 1 }), 'malformed'],
    ['of another format', (bundle: Bundle) => ({ ...bundle, format: 'x' }), 'malformed'],
    ['that names a file elsewhere', nameElsewhere, 'malformed'],
    ['that is too long', (b: Bundle) => ({ ...b, pad: 'x'.repeat(MAX_UPDATE_BYTES) }), 'too_large'],
    [
      'whose assignment is too long',
      (b: Bundle) => ({ ...b, assignment: unsigned() }),
      'too_large',
    ],
    ['that is not an object', () => [], 'malformed'],
  ])('%s is refused', async (_what, change, code) => {
    const scene = await inForce()
    const changed = policyOf(['allow', 'read', '/data/**'], ['allow', 'read', '/etc/**'])
    const served = scene.repository.release({ policies: [changed], revision: 8 })
    serveChanged(scene, served, change)

    expect(await scene.synchronizer.run(never, true)).toMatchObject({ error: { code } })
    expectKept(scene)
  })

  const named = (bundle: Bundle, name: RegExp): [string, string][] =>
    Object.entries(bundle.files).filter(([each]) => name.test(each))
  const mixed = (base: Served, other: Served, name: RegExp) => (): Bundle => {
    const [own, foreign] = [base, other].map(
      (each) => JSON.parse(packBundle(each).toString()) as Bundle,
    ) as [Bundle, Bundle]
    const kept = named(own, /^/).filter(([each]) => !name.test(each))
    return { ...own, files: Object.fromEntries([...kept, ...named(foreign, name)]) }
  }

  it.each([
    ['the earlier timestamp', /timestamp/, 'older_version'],
    ['the earlier snapshot', /timestamp|snapshot/, 'older_version'],
    ['all earlier metadata', /metadata/, 'older_version'],
  ])('with %s is refused, but the next one is not', async (_what, name, code) => {
    const scene = await inForce()
    const { repository, synchronizer } = scene
    const before = repository.release({ policies: [other], revision: 6 })
    for (let version = 3; version <= 4; version += 1)
      await scene.sync(repository.release({ policies }))
    const served = repository.release({ policies, revision: 8 })
    serveChanged(scene, before, mixed(served, before, name))

    expect(await synchronizer.run(never, true)).toMatchObject({ error: { code } })
    expectKept(scene)
    expect(await scene.sync(served)).toMatchObject({ revision: 8, error: null })
  })

  it.each([
    ['a name', (name: string) => JSON.stringify({ [name]: 'x' })],
    ['a repeated name', (name: string) => `{"${name}":"x","${name}":"x"}`],
  ])('is refused with a short message, however long %s in it is', async (_what, files) => {
    const scene = await inForce()
    const text = `{"format":"palisade-bundle-1","assignment":"","files":${files('x'.repeat(1e6))}}`
    scene.server.answer = (_request, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(text)

    const { error } = await scene.synchronizer.run(never, true)

    expect(error?.code).toBe('malformed')
    expect(error?.message.length).toBeLessThanOrEqual(512)
    expectKept(scene)
  })

  it('is refused without the roots in between, and accepted with them', async () => {
    const scene = await inForce()
    scene.repository.rotate(createKeys())
    const served = scene.repository.release({ policies, revision: 8 })
    const asked = serveChanged(scene, served, without(/root/))

    expect(await scene.synchronizer.run(never, true)).toMatchObject({
      error: { code: 'bad_signature' },
    })
    expectKept(scene)
    // The update alone provides roots.
    expect(asked).toEqual([])
    expect(await scene.sync(served)).toMatchObject({ revision: 8, error: null })
  })

  it('with hundreds of thousands of members is refused before any of them is read', async () => {
    const scene = await inForce()
    const served = scene.repository.release({ policies, revision: 8 })
    serveChanged(scene, served, (bundle) => ({ ...bundle, files: manyMembers() }))

    expect(await scene.synchronizer.run(never, true)).toMatchObject({
      error: { code: 'malformed', message: expect.stringContaining('not a path of a view') },
    })
    expectKept(scene)
  })

  it('without a change is accepted only by a machine that has a bundle', async () => {
    const scene = await inForce()
    scene.server.answer = (_request, response) => response.writeHead(304).end()
    expect(await scene.synchronizer.run(never, true)).toMatchObject({ outcome: 'unchanged' })
    expectKept(scene)
  })
})

function manyMembers(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 600_000 }, (_, index) => [`x${index}`, '']))
}

/** A file with millions of empty signatures. */
function unsigned(): string {
  return `{"signatures":[${'{},'.repeat(2_000_000)}{}],"signed":{}}`
}

function nameElsewhere(bundle: Bundle): Bundle {
  return { ...bundle, files: { ...bundle.files, '../../etc/passwd': 'x' } }
}
