import { describe, expect, it } from 'vitest'
import { parseNetworkPattern } from '../../../packages/policy-core/src/pattern/parse-network-pattern.ts'

describe('the suggested correction', () => {
  it('of a leading dot names the domain and all below it', () => {
    const read = parseNetworkPattern('.example.com')

    expect(read.ok ? '' : read.message).toContain(
      'write both `**.example.com` for every name below, and `example.com` for the domain itself',
    )
  })

  it.each(['*', '*.', '**', '**.'])(
    'names explicit ranges for %j, which matches every host',
    (text) => {
      expect(parseNetworkPattern(text)).toEqual({
        ok: false,
        message:
          `\`${text}\` matches every host; write \`0.0.0.0/0\` and \`::/0\` ` +
          `for every address and port, or name a domain such as \`**.example.com\``,
      })
    },
  )

  it.each([
    ['10.0.0.*', ['10.0.0.0/24']],
    ['10.0.*.*:443', ['10.0.0.0/16']],
    ['10.*', ['10.0.0.0/8']],
    ['.example.com', ['**.example.com', 'example.com']],
    ['.example.com:443', ['**.example.com:443', 'example.com:443']],
    ['example.com:*', ['example.com']],
    ['127.1:*', ['127.0.0.1']],
    ['10.0.0.*:*', ['10.0.0.0/24']],
    ['::ffff:1.2.3.4/8', ['1.0.0.0/8']],
    ['::ffff:1.2.3.4/104', ['::ffff:100:0/104']],
    ['2001:db8::1/32', ['2001:db8::/32']],
    ['10.0.0.1/8', ['10.0.0.0/8']],
    ['443', ['example.com:443']],
    ['1:', ['example.com:443']],
    ['x@0', ['example.com']],
    ['https://443/', ['example.com']],
    ['example.com:80,443', ['example.com:80', 'example.com:443']],
    ['example.com:80-90', ['example.com']],
    ['10.0.0.1-10.0.0.9', ['10.0.0.0/28']],
    ['git@github.com:foo/bar.git', ['github.com:22']],
    ['me@example.com:22', ['example.com:22']],
    ['./x', ['example.com']],
    ['..example.com', ['example.com']],
    ['*.a..b.test:8', ['*.a.b.test:8']],
    ['*.*.svc.cluster.local', ['*.svc.cluster.local', '**.svc.cluster.local']],
    ['a*.b.test:443', ['*.b.test:443', '**.b.test:443']],
    ['a.*.com', ['*.example.com', '**.example.com']],
    ['a.*.co.uk', ['*.example.com', '**.example.com']],
    ['*b.test:443', ['**.b.test:443', 'b.test:443']],
    ['*-a.b.test', ['*.b.test', '**.b.test']],
    ['"a.test":443', ['a.test:443']],
    ['a.test,b.test', ['a.test', 'b.test']],
    ['[::1:443]', ['[::1]:443']],
    ['1:2:3:4:5:6:7:8:443', ['[1:2:3:4:5:6:7:8]:443']],
  ])('of %s is itself a valid pattern', (text, meant) => {
    const read = parseNetworkPattern(text)
    const [written, ...advised] = quotedIn(read.ok ? '' : read.message)

    expect(written).toBe(text)
    expect(advised).toEqual(meant)
    expect(advised.map((each) => parseNetworkPattern(each).ok)).not.toContain(false)
  })

  it.each(['10.0.0.0.*', '256.*', '*.0.0.1', '10.*.0', 'a.*', '1e1.*', '10.0.0.*.example', '*10'])(
    'of %s is not a range',
    (text) => {
      expect(parseNetworkPattern(text)).toMatchObject({ ok: false })
      expect(JSON.stringify(parseNetworkPattern(text))).not.toContain('/24')
    },
  )

  it('converts an IPv4 netmask to a prefix length, and not an IPv6 one', () => {
    expect(parseNetworkPattern('10.0.0.0/255.0.0.0')).toEqual({
      ok: false,
      message: '`10.0.0.0/255.0.0.0` has a netmask instead of a prefix length; write `10.0.0.0/8`',
    })
    expect(parseNetworkPattern('2001:db8::/255.0.0.0')).toEqual({
      ok: false,
      message:
        '`2001:db8::/255.0.0.0` has no valid prefix length; ' +
        'write a number from 0 to 128 without leading zeros, such as `2001:db8::/128`',
    })
  })
})

function quotedIn(message: string): readonly string[] {
  return [...message.matchAll(/`([^`]*)`/g)].map(([, text = '']) => text)
}
