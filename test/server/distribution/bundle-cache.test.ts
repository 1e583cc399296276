import { describe, expect, it } from 'vitest'
import { createBundleCache } from '../../../server/src/distribution/bundle-cache.ts'

const bundle = (bytes: number) => ({ body: Buffer.alloc(bytes), etag: '"e"' })
const MIB = 1024 * 1024

describe('the bundle cache', () => {
  it('finds a bundle in its version only', () => {
    const cache = createBundleCache()
    const kept = bundle(1)
    cache.keep('d1', '1@0', kept)

    expect(cache.find('d1', '1@0')).toBe(kept)
    expect(cache.find('d1', '2@0')).toBeNull()
    expect(cache.find('d2', '1@0')).toBeNull()
  })

  it('drops the least recently used when it grows beyond 64 MiB', () => {
    const cache = createBundleCache()
    for (const device of ['d1', 'd2', 'd3']) cache.keep(device, 'v', bundle(20 * MIB))
    cache.find('d1', 'v')

    cache.keep('d4', 'v', bundle(20 * MIB))

    expect(['d1', 'd2', 'd3', 'd4'].filter((device) => cache.find(device, 'v') !== null)).toEqual([
      'd1',
      'd3',
      'd4',
    ])
  })

  it('counts a replaced bundle once', () => {
    const cache = createBundleCache()
    cache.keep('d1', 'v', bundle(1))

    for (let round = 0; round < 10; round += 1) cache.keep('d2', `v${round}`, bundle(20 * MIB))

    expect(cache.find('d1', 'v')).not.toBeNull()
  })
})
