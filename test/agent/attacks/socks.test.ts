import { describe, expect, it } from 'vitest'
import { expectUntouched, startAttack } from '../fixture/attack-scene.ts'
import { askSocks, openBytes, socksName } from '../fixture/socks.ts'

describe('a SOCKS frame', () => {
  it.each([
    ['a name with NUL', socksName('x.allowed.test\0.evil.test', 443), 1],
    [
      'a name of 255 bytes',
      socksName(`${'a.'.repeat(121)}allowed.test.`.padStart(255, 'b'), 443),
      1,
    ],
    ['an empty name', socksName('', 443), 1],
    ['IPv6 as a name', socksName('2001:db8::1', 443), 1],
    ['a bracketed name', socksName('[2001:db8::1]', 443), 1],
    ['an unknown address type', Buffer.from([5, 1, 0, 2, 198, 51, 100, 1, 1, 187]), 8],
    ['BIND', socksName('x.allowed.test', 443, 2), 7],
    ['an unknown command', socksName('x.allowed.test', 443, 255), 7],
    ['a reserved byte', Buffer.from([5, 1, 7, 1, 198, 51, 100, 1, 1, 187]), 1],
    ['another version', Buffer.from([4, 1, 0, 1, 198, 51, 100, 1, 1, 187]), 1],
  ])('case 55: %s gets an error reply', async (_title, request, code) => {
    const scene = await startAttack()
    const { client, reply } = await askSocks(scene.port, request)
    expect(reply).toBe(code)
    expect(await client.rest()).toHaveLength(0)
    expectUntouched(scene)
    expect(scene.decisions).toEqual([])
  })

  it.each([
    ['SOCKS4', Buffer.from([4, 1, 1, 187, 198, 51, 100, 1, 0]), [0, 0x5b]],
    ['SOCKS4a', Buffer.from([4, 1, 1, 187, 0, 0, 0, 1, 0, 97, 0]), [0, 0x5b]],
    ['no method', Buffer.from([5, 0]), [5, 0xff]],
    ['a method with a password alone', Buffer.from([5, 1, 2]), [5, 0xff]],
  ])('case 55: %s is refused in its own protocol', async (_title, sent, start) => {
    const scene = await startAttack()
    const client = await openBytes(scene.port, sent)
    expect([...(await client.rest())].slice(0, 2)).toEqual(start)
    expectUntouched(scene)
  })

  it('case 55: a short frame is closed when the program ends', async () => {
    const scene = await startAttack()
    const whole = Buffer.concat([Buffer.from([5, 1, 0]), socksName('x.allowed.test', 443)])
    for (let length = 1; length < whole.length; length += 1) {
      const client = await openBytes(scene.port, whole.subarray(0, length))
      client.socket.end()
      const answer = await client.rest()
      expect([[], [5, 0], [5, 0, 5, 1]]).toContainEqual([...answer.subarray(0, 4)])
    }
    expectUntouched(scene)
  })
})
