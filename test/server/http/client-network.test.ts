import { expect, it } from 'vitest'
import { clientNetwork } from '../../../server/src/http/client-network.ts'

it.each([
  ['192.0.2.7', '192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7', '192.0.2.7'],
  ['0:0:0:0:0:ffff:192.0.2.7', '192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64', '2001:db8:1::/48'],
  ['2001:DB8:1:2::', '2001:db8:1:2::/64', '2001:db8:1::/48'],
  ['2001:0db8:0001:0002:ffff::1', '2001:db8:1:2::/64', '2001:db8:1::/48'],
  ['2001:db8::1', '2001:db8:0:0::/64', '2001:db8:0::/48'],
  ['2001:db8:0:0:1::', '2001:db8:0:0::/64', '2001:db8:0::/48'],
  ['::1', '0:0:0:0::/64', '0:0:0::/48'],
  ['::', '0:0:0:0::/64', '0:0:0::/48'],
  ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64', '64:ff9b:0::/48'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64', 'fe80:0:0::/48'],
  ['not an address', 'not an address', 'not an address'],
  ['', '', ''],
])('puts %s into the network %s, and that into %s', (address, near, wide) => {
  expect(clientNetwork(address)).toMatchObject({ near, wide })
})

it.each([
  ['192.0.2.7', ['192.0', '192.0.2', '192.0.2.7']],
  ['::ffff:192.0.2.7', ['192.0', '192.0.2', '192.0.2.7']],
  [
    '2001:db8:1:12ab::5',
    ['2001:db8::/32', '2001:db8:1::/48', '2001:db8:1:12::/56', '2001:db8:1:12ab::/64'],
  ],
  [
    '2001:db8:1:2::5',
    ['2001:db8::/32', '2001:db8:1::/48', '2001:db8:1:00::/56', '2001:db8:1:2::/64'],
  ],
  ['not an address', ['not an address']],
])('puts %s into the nested networks %j', (address, path) => {
  expect(clientNetwork(address).path).toEqual(path)
})
