import { deviceNameSchema, nameOfHost } from '@palisade/protocol'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

describe('the name of a machine', () => {
  it.each([
    ['laptop-12', 'laptop-12'],
    ['  Ann’s desk  ', 'Ann’s desk'],
    ['u\u0308ber', 'über'],
    ['x'.repeat(64), 'x'.repeat(64)],
    ['𝒹'.repeat(64), '𝒹'.repeat(64)],
  ])('may be %j', (text, name) => {
    expect(deviceNameSchema.parse(text)).toBe(name)
  })

  it.each([
    '',
    '   ',
    'x'.repeat(65),
    'a\nb',
    'a\u001b[2Jb',
    'a\u202eb',
    'a\u200bb',
    'a\u2028b',
    '\ud800',
    'e\u0301'.repeat(100_000),
  ])('is refused: %j', (text) => {
    expect(deviceNameSchema.safeParse(text).success).toBe(false)
  })

  it('derived from a host name is always valid', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (hostName) => {
        const name = nameOfHost(hostName)
        expect(name === null || deviceNameSchema.parse(name) === name).toBe(true)
      }),
    )
    expect(nameOfHost('laptop.example')).toBe('laptop.example')
    expect(nameOfHost('\u001b\n')).toBeNull()
  })
})
