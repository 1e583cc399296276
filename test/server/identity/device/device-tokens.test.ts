import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createDeviceTokens } from '../../../../server/src/identity/device/device-tokens.ts'

describe('a device token', () => {
  const key = randomBytes(32)
  const device = { id: randomUUID(), thumbprint: 'thumbprint' }
  let nowMs = Date.parse('2026-11-21T08:00:00.999Z')
  const open = (with_ = key) =>
    createDeviceTokens({ key: with_, lifeSeconds: 60, now: () => new Date(nowMs) })

  it('yields device and expiry, and is bound to the key of the device', () => {
    const token = open().issue(device)

    const claims = open().read(token)

    expect(claims).toMatchObject({
      deviceId: device.id,
      expiresMs: Date.parse('2026-11-21T08:01:00Z'),
    })
    expect(claims?.isOf('thumbprint')).toBe(true)
    expect(claims?.isOf('another')).toBe(false)
    expect(open(randomBytes(32)).read(token)?.isOf('thumbprint')).toBe(false)
  })

  it('expires', () => {
    const token = open().issue(device)
    nowMs = Date.parse('2026-11-21T08:00:59.999Z')
    expect(open().read(token)).not.toBeNull()

    nowMs += 1

    expect(open().read(token)).toBeNull()
  })

  it('is refused when a part of it is changed', () => {
    const token = open().issue(device)
    const [head = '', expires = '', mac = ''] = token.split('.')
    const later = (Number.parseInt(expires, 36) + 1).toString(36)

    for (const forged of [
      `pal_dat_${randomUUID()}.${expires}.${mac}`,
      `${head}.${later}.${mac}`,
      `${head}.${expires}.${mac.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))}`,
      // Another encoding of the same bytes.
      `${head}.${expires}.${mac.slice(0, -1)}${mac.endsWith('B') ? 'C' : 'B'}`,
      `${head}.0${expires}.${mac}`,
      `${head}.${expires.toUpperCase()}.${mac}`,
      `${head}.${expires}.${mac}A`,
      `${head}.${expires}.`,
      `${head}.${expires}`,
      `${token} `,
      '',
    ])
      expect(open().read(forged)?.isOf('thumbprint') ?? false, forged).toBe(false)
  })
})
