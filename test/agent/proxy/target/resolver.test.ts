import { describe, expect, it } from 'vitest'
import { createResolver } from '../../../../agent/src/proxy/target/resolver.ts'
import { startNameServer } from '../../fixture/name-server.ts'

/** Timeout where an answer is expected. */
const PATIENT_MS = 60_000

describe('the resolver', () => {
  it('returns the addresses of both families', async () => {
    const { server, asked } = await startNameServer({
      'a.test': { A: ['192.0.2.1', '192.0.2.2'], AAAA: ['2001:db8::1'] },
    })
    const resolve = createResolver([server], PATIENT_MS)

    expect(await resolve('a.test')).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::1'])
    expect(asked.toSorted()).toEqual(['a.test A', 'a.test AAAA'])
  })

  it('succeeds with one family', async () => {
    const { server } = await startNameServer({ 'a.test': { AAAA: ['2001:db8::1'] } })

    expect(await createResolver([server], PATIENT_MS)('a.test')).toEqual(['2001:db8::1'])
  })

  it('asks again for every request', async () => {
    const records: Record<string, { A: string[] }> = { 'a.test': { A: ['192.0.2.1'] } }
    const { server } = await startNameServer(records)
    const resolve = createResolver([server], PATIENT_MS)
    await resolve('a.test')

    records['a.test'] = { A: ['192.0.2.9'] }

    expect(await resolve('a.test')).toEqual(['192.0.2.9'])
  })

  it('fails for a name without addresses, and in time without an answer', async () => {
    const { server } = await startNameServer({ 'empty.test': {} })
    const beganMs = performance.now()

    await expect(createResolver([server], PATIENT_MS)('empty.test')).rejects.toThrow('ENODATA')
    await expect(createResolver([server], 200)('silent.test')).rejects.toThrow(/ETIMEOUT|no answer/)
    expect(performance.now() - beganMs).toBeLessThan(10_000)
  })

  it('returns the addresses of one family when the server is silent about the other', async () => {
    const { server } = await startNameServer({ 'a.test': { A: ['192.0.2.1'] } }, ['AAAA'])

    expect(await createResolver([server], 200)('a.test')).toEqual(['192.0.2.1'])
  })

  it('asks the servers of the system when it has no list', async () => {
    const { server, asked } = await startNameServer({ 'a.test': { A: ['192.0.2.1'] } })
    const system = { findListed: async () => [], servers: [server] }

    expect(await createResolver([], PATIENT_MS, system)('a.test')).toEqual(['192.0.2.1'])
    expect(asked.toSorted()).toEqual(['a.test A', 'a.test AAAA'])
  })

  it('resolves a name while servers are silent about a hundred others', async () => {
    const { server } = await startNameServer({ 'a.test': { A: ['192.0.2.1'] } })
    const resolve = createResolver([], PATIENT_MS, {
      findListed: async () => [],
      servers: [server],
    })
    let settled = 0
    for (let index = 0; index < 100; index += 1)
      void resolve(`silent-${index}.test`)
        .catch(() => {})
        .finally(() => (settled += 1))

    expect(await resolve('a.test')).toEqual(['192.0.2.1'])
    expect(settled).toBe(0)
  })

  it('takes a name of the hosts file only from there', async () => {
    const { server, asked } = await startNameServer({ 'a.test': { A: ['192.0.2.1'] } })
    const findListed = async (name: string) => (name === 'a.test' ? ['192.0.2.7'] : [])

    const resolve = createResolver([], PATIENT_MS, { findListed, servers: [server] })

    expect(await resolve('a.test')).toEqual(['192.0.2.7'])
    expect(asked).toEqual([])
  })

  it('resolves the names of this machine', async () => {
    expect(await createResolver([], PATIENT_MS)('localhost')).toContain('127.0.0.1')
  })
})
