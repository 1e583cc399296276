import { describe, expect, it } from 'vitest'
import { createResolver } from '../../../agent/src/proxy/resolver.ts'
import { startNameServer } from '../fixture/name-server.ts'

/** For an answer that comes. */
const PATIENT_MS = 60_000

describe('the resolver', () => {
  it('gives the addresses of both families', async () => {
    const { server, asked } = await startNameServer({
      'a.test': { A: ['192.0.2.1', '192.0.2.2'], AAAA: ['2001:db8::1'] },
    })
    const resolve = createResolver([server], PATIENT_MS)

    expect(await resolve('a.test')).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::1'])
    expect(asked.toSorted()).toEqual(['a.test A', 'a.test AAAA'])
  })

  it('is content with one family', async () => {
    const { server } = await startNameServer({ 'a.test': { AAAA: ['2001:db8::1'] } })

    expect(await createResolver([server], PATIENT_MS)('a.test')).toEqual(['2001:db8::1'])
  })

  it('asks anew for every request', async () => {
    const records: Record<string, { A: string[] }> = { 'a.test': { A: ['192.0.2.1'] } }
    const { server } = await startNameServer(records)
    const resolve = createResolver([server], PATIENT_MS)
    await resolve('a.test')

    records['a.test'] = { A: ['192.0.2.9'] }

    expect(await resolve('a.test')).toEqual(['192.0.2.9'])
  })

  it('fails for a name without addresses, and in time for one without an answer', async () => {
    const { server } = await startNameServer({ 'empty.test': {} })
    const beganMs = performance.now()

    await expect(createResolver([server], PATIENT_MS)('empty.test')).rejects.toThrow('ENODATA')
    await expect(createResolver([server], 200)('silent.test')).rejects.toThrow(/ETIMEOUT|no answer/)
    expect(performance.now() - beganMs).toBeLessThan(10_000)
  })

  it('asks the system when no server is named, for the name as an absolute one', async () => {
    const asked: string[] = []
    const resolve = createResolver([], PATIENT_MS, {
      readHosts: async () => '127.0.0.1 localhost other.a.test\n',
      lookup: async (name) => {
        asked.push(name)
        return ['192.0.2.1']
      },
    })

    expect(await resolve('a.test')).toEqual(['192.0.2.1'])
    expect(await resolve('intranet')).toEqual(['192.0.2.1'])
    expect(asked).toEqual(['a.test.', 'intranet.'])
  })

  it('takes a name of the hosts file from there', async () => {
    const hosts = [
      '192.0.2.7\tFirst.Test a.test # c.test',
      '#192.0.2.8 a.test',
      '2001:db8::7 a.test',
      '',
    ]
    const resolve = createResolver([], PATIENT_MS, {
      readHosts: async () => hosts.join('\r\n'),
      lookup: async (name) => {
        throw new Error(`asked for ${name}`)
      },
    })

    expect(await resolve('a.test')).toEqual(['192.0.2.7', '2001:db8::7'])
    expect(await resolve('first.test')).toEqual(['192.0.2.7'])
    await expect(resolve('c.test')).rejects.toThrow('asked for c.test.')
  })

  it('finds the names of this machine', async () => {
    expect(await createResolver([], PATIENT_MS)('localhost')).toContain('127.0.0.1')
  })
})
