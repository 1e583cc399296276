import { expect, it } from 'vitest'
import {
  discoveryUrlOf,
  isIssuerUrl,
  isKeySetUrl,
} from '../../../../server/src/identity/oidc/issuer-url.ts'

it.each([
  'https://id.example.com',
  'https://id.example.com/',
  'https://id.example.com:8443/realms/acme',
  'http://127.0.0.1:8080/realms/acme',
  'http://localhost:8080',
  'http://[::1]:8080',
])('accepts the issuer %s', (text) => {
  expect(isIssuerUrl(text)).toBe(true)
})

it.each([
  '',
  'id.example.com',
  'http://id.example.com',
  'http://127.0.0.1.example.com',
  'http://localhost.example.com',
  'https://',
  'https://user:secret@id.example.com',
  'https://id.example.com?tenant=1',
  'https://id.example.com#x',
  'https://id.example.com\\@other.example',
  ' https://id.example.com',
  'file:///etc/issuer',
  `https://id.example.com/${'x'.repeat(2048)}`,
])('refuses the issuer %j', (text) => {
  expect(isIssuerUrl(text)).toBe(false)
})

it('builds the discovery URL below the path of the issuer', () => {
  const expected = 'https://id.example/a/.well-known/openid-configuration'

  expect(discoveryUrlOf('https://id.example/a')).toBe(expected)
  expect(discoveryUrlOf('https://id.example/a/')).toBe(expected)
})

it('accepts key set URLs with TLS, and loopback ones only for a loopback issuer', () => {
  const remote = 'https://id.example'
  const local = 'http://127.0.0.1:8080'

  expect(isKeySetUrl('https://keys.example/jwks?v=1', remote)).toBe(true)
  expect(isKeySetUrl('http://keys.example/jwks', remote)).toBe(false)
  expect(isKeySetUrl('http://127.0.0.1/jwks', remote)).toBe(false)
  expect(isKeySetUrl('http://127.0.0.1:8080/jwks', local)).toBe(true)
  expect(isKeySetUrl('http://keys.example/jwks', local)).toBe(false)
})
