import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import {
  createFindParent,
  reachParent,
  type ReachDeps,
} from '../../../../agent/src/proxy/parent/reach-parent.ts'

const never = new AbortController().signal

function start(host: string, answers: readonly (readonly string[])[] = []) {
  const scene = { nowMs: 0, asked: 0, dialled: [] as string[] }
  const deps: ReachDeps = {
    access: {
      scheme: 'http',
      host,
      port: 3128,
      credentialsPath: null,
      caPath: null,
      noProxy: [],
      resolves: false,
      authorization: null,
      ca: null,
    },
    resolve: async () => {
      const answer = answers[scene.asked++]
      if (answer === undefined) throw new Error('ENOTFOUND')
      return answer
    },
    dial: async (address) => {
      scene.dialled.push(address)
      if (address === '192.0.2.1') throw new Error('ECONNREFUSED')
      return new Socket()
    },
    isOwnAddress: (address) => address === '127.0.0.1',
    timeoutMs: 60_000,
    uptime: () => scene.nowMs,
  }
  return { scene, deps, find: createFindParent(deps) }
}

describe('the addresses of a parent proxy', () => {
  it('are asked for once a minute, in canonical form', async () => {
    const { scene, find } = start('proxy.test', [['2001:DB8:0::1'], ['192.0.2.2']])

    expect(await Promise.all([find(), find()])).toEqual([['2001:db8::1'], ['2001:db8::1']])
    scene.nowMs = 59_999
    expect(await find()).toEqual(['2001:db8::1'])
    expect(scene.asked).toBe(1)
    scene.nowMs = 60_000

    expect(await find()).toEqual(['192.0.2.2'])
  })

  it('are asked for again after a failure', async () => {
    const { scene, find } = start('proxy.test')

    await expect(find()).rejects.toMatchObject({ code: 'unreachable' })
    await expect(find()).rejects.toMatchObject({ code: 'unreachable' })

    expect(scene.asked).toBe(2)
  })

  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['localhost', '127.0.0.1'],
  ])('of %s need no query', async (host, address) => {
    const { scene, find } = start(host)

    expect(await find()).toEqual([address])
    expect(scene.asked).toBe(0)
  })

  it('are tried in order', async () => {
    const { scene, deps } = start('proxy.test')

    await reachParent(deps, ['192.0.2.1', '192.0.2.2', '192.0.2.3'], never)

    expect(scene.dialled).toEqual(['192.0.2.1', '192.0.2.2'])
  })

  it('are not dialled where one is this proxy itself', async () => {
    const { scene, deps } = start('proxy.test')

    await expect(reachParent(deps, ['192.0.2.2', '127.0.0.1'], never)).rejects.toMatchObject({
      code: 'loop',
    })

    expect(scene.dialled).toEqual([])
  })
})
