import { describe, expect, it } from 'vitest'
import { parseNetworkPattern } from '../../../packages/policy-core/src/pattern/parse-network-pattern.ts'

describe('what is to be written instead', () => {
  it.each(['*', '*.', '**', '**.'])('of %j, which stands for every host', (text) => {
    expect(parseNetworkPattern(text)).toEqual({
      ok: false,
      message: `\`${text}\` stands for every host; write \`0.0.0.0/0\` and \`::/0\` for every address, or name a domain such as \`**.example.com\``,
    })
  })

  it('of a netmask, which IPv4 alone has', () => {
    expect(parseNetworkPattern('10.0.0.0/255.0.0.0')).toEqual({
      ok: false,
      message: '`10.0.0.0/255.0.0.0` has a netmask instead of a prefix length; write `10.0.0.0/8`',
    })
    expect(parseNetworkPattern('2001:db8::/255.0.0.0')).toEqual({
      ok: false,
      message:
        '`2001:db8::/255.0.0.0` has no valid prefix length; write a number from 0 to 128 without leading zeros, such as `2001:db8::/128`',
    })
  })
})
