import { describe, expect, it } from 'vitest'
import { parseTarget } from '../../../packages/cli/src/check/target.ts'

describe('parseTarget', () => {
  it.each([
    ['example.com:443', 'example.com', 443],
    ['EXAMPLE.com.:443', 'EXAMPLE.com.', 443],
    ['[2001:db8::1]:443', '2001:db8::1', 443],
    ['[::ffff:10.0.0.1]:1', '::ffff:10.0.0.1', 1],
    ['2001:db8::1:443', '2001:db8::1', 443],
    ['[example.com]:443', '[example.com]', 443],
    ['[192.0.2.7]:443', '[192.0.2.7]', 443],
    ['[[::1]]:443', '[[::1]]', 443],
    ['[::1:443', '[::1', 443],
    ['http://example.com:443', 'http://example.com', 443],
    ['user@example.com:443', 'user@example.com', 443],
    ['example.com\0:443', 'example.com\0', 443],
    [' example.com :443', ' example.com ', 443],
    [':443', '', 443],
    ['example.com:0', 'example.com', 0],
    ['example.com:65536', 'example.com', 65536],
  ])('splits `%s` into host `%s` and port %i', (target, host, port) => {
    expect(parseTarget('connect:tcp', target, undefined)).toEqual({
      action: 'connect:tcp',
      host,
      port,
    })
  })

  it.each([
    'example.com',
    'example.com:',
    'example.com:+443',
    'example.com: 443',
    'example.com:443 ',
    'example.com:0443',
    'example.com:0x1bb',
    'example.com:4e2',
    'example.com:443/path',
    'example.com:٤٤٣',
    'example.com:-1',
    '',
  ])('refuses the port of `%s` as wrong usage', (target) => {
    expect(() => parseTarget('connect:tcp', target, undefined)).toThrow(
      expect.objectContaining({ code: 'ERR_USAGE', exitCode: 2 }),
    )
  })

  it.each([
    ['http://example.com', 'is a URL'],
    ['https://example.com/x', 'is a URL'],
    ['[2001:db8::1]', 'write `[2001:db8::1]:443`'],
    ['gitlab.com', 'write `gitlab.com:443`'],
    ['', 'names no host'],
    [':', 'names no host'],
    ['example.com:', 'has an empty port'],
  ])('says what is wrong with `%s`', (target, message) => {
    expect(() => parseTarget('connect:tcp', target, undefined)).toThrow(message)
  })

  it.each(['/data/x', '/data/../x', 'relative', '/a\0b', '/a:1', ''])(
    'hands the path `%s` over as it is',
    (path) => {
      expect(parseTarget('read', path, undefined)).toEqual({ action: 'read', path })
    },
  )

  it('passes the address on unchanged', () => {
    expect(parseTarget('connect:udp', 'a.b:53', '0x7f.1')).toMatchObject({ address: '0x7f.1' })
  })

  it('refuses an address beside a path, and an unknown action', () => {
    expect(() => parseTarget('write', '/x', '192.0.2.1')).toThrow(/connect actions/)
    expect(() => parseTarget('connect', 'a.b:1', undefined)).toThrow(/write one of `connect:tcp`/)
    expect(() => parseTarget('toString', '/x', undefined)).toThrow(/unknown action/)
  })
})
