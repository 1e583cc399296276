import { describe, expect, it } from 'vitest'
import { createReachableAddresses } from '../../../server/src/webhooks/reachable-addresses.ts'
import { requireWebhookUrl } from '../../../server/src/webhooks/webhook-url.ts'

const PUBLIC = createReachableAddresses([])
const OPENED = createReachableAddresses(['127.0.0.1', '10.1.0.0/16', '::1'])

describe('addresses that webhooks may reach', () => {
  it.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '192.169.0.1', '2606:4700::1111', '2a00:1450::1'])(
    'include %s',
    (address) => {
      expect(PUBLIC.includes(address)).toBe(true)
    },
  )

  it.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '100.100.100.200',
    '127.0.0.1',
    '127.255.0.1',
    '168.63.129.16',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '198.18.0.1',
    '203.0.113.9',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:8.8.8.8',
    '::ffff:127.0.0.1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    '5f00::1',
  ])('do not include %s', (address) => {
    expect(PUBLIC.includes(address)).toBe(false)
  })

  it('include exactly what the operator allowed', () => {
    expect(OPENED.includes('10.1.2.3')).toBe(true)
    expect(OPENED.includes('10.2.0.1')).toBe(false)
    expect(OPENED.includes('127.0.0.2')).toBe(false)
    expect(OPENED.isOpenLoopback('127.0.0.1')).toBe(true)
    expect(OPENED.isOpenLoopback('::1')).toBe(true)
    expect(OPENED.isOpenLoopback('10.1.2.3')).toBe(false)
    expect(PUBLIC.isOpenLoopback('127.0.0.1')).toBe(false)
  })
})

describe('the URL of a webhook', () => {
  it.each([
    ['https://example.com/hook?a=b', 'https://example.com/hook?a=b'],
    ['https://EXAMPLE.com', 'https://example.com/'],
    ['https://8.8.8.8:8443/', 'https://8.8.8.8:8443/'],
    ['https://[2606:4700::1111]/', 'https://[2606:4700::1111]/'],
  ])('may be %s', (text, canonical) => {
    expect(requireWebhookUrl(text, PUBLIC)).toBe(canonical)
  })

  it.each([
    'http://example.com/',
    'http://8.8.8.8/',
    'http://localhost:3000/',
    'http://127.0.0.1:3000/',
    'https://127.0.0.1/',
    'https://0x7f.1/',
    'https://2130706433/',
    'https://017700000001/',
    'https://169.254.169.254/latest/meta-data/',
    'https://[::1]/',
    'https://[::ffff:169.254.169.254]/',
    'https://[fd00:ec2::254]/',
    'https://user:password@example.com/',
    'https://user@example.com/',
    'https://example.com/#part',
    'ftp://example.com/',
    'file:///etc/passwd',
    'https://',
    'example.com',
  ])('must not be %s', (text) => {
    expect(() => requireWebhookUrl(text, PUBLIC)).toThrow(
      expect.objectContaining({ status: 400, field: 'url' }),
    )
  })

  it('names the setting that allows a private address', () => {
    expect(() => requireWebhookUrl('https://10.1.2.3/', PUBLIC)).toThrow(
      '`url` must not point to `10.1.2.3`, an address that is not public; ' +
        'the server allows it with `PALISADE_WEBHOOK_NETWORKS`',
    )
  })

  it('may be plain HTTP only to loopback that the operator allowed', () => {
    for (const host of ['127.0.0.1:3000', '[::1]:3000', 'localhost:3000'])
      expect(requireWebhookUrl(`http://${host}/`, OPENED)).toBe(`http://${host}/`)
    expect(requireWebhookUrl('https://10.1.2.3/', OPENED)).toBe('https://10.1.2.3/')
    for (const host of ['10.1.2.3', '127.0.0.2', 'example.com'])
      expect(() => requireWebhookUrl(`http://${host}/`, OPENED)).toThrow('`url` must')
  })
})
