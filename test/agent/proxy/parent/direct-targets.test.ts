import { describe, expect, it } from 'vitest'
import { readConfig } from '../../../../agent/src/host/config/config.ts'
import { createIsDirect, type IsDirect } from '../../../../agent/src/proxy/parent/direct-targets.ts'

function directFor(list: string, machine: readonly string[] = []): IsDirect {
  const { parentProxy } = readConfig(
    { PALISADE_PARENT_PROXY: 'http://proxy.test:3128', PALISADE_PARENT_NO_PROXY: list },
    '/',
  )
  return createIsDirect(parentProxy?.noProxy ?? [], () => machine)
}

describe('a target that is dialled directly', () => {
  const isDirect = directFor(
    'git.corp.test, .lan.test,*.old.test,10.0.0.0/8,192.0.2.7,2001:db8::/32,api.test:8443',
  )

  it.each([
    ['git.corp.test', '198.51.100.1'],
    ['git.corp.test', undefined],
    ['a.lan.test', undefined],
    ['b.a.lan.test', '198.51.100.1'],
    ['b.a.old.test', undefined],
    ['x.test', '10.1.2.3'],
    ['10.1.2.3', '10.1.2.3'],
    ['192.0.2.7', '192.0.2.7'],
    ['x.test', '2001:db8::1'],
  ])('is listed: %s at %s', (host, address) => {
    expect(isDirect({ host, port: 443 }, address)).toBe(true)
  })

  it.each([
    ['x.git.corp.test', '198.51.100.1'],
    ['xgit.corp.test', undefined],
    ['lan.test', undefined],
    ['x.test', '198.51.100.1'],
    ['x.test', undefined],
    ['11.0.0.1', '11.0.0.1'],
    ['192.0.2.8', '192.0.2.8'],
    ['api.test', undefined],
  ])('is not %s at %s', (host, address) => {
    expect(isDirect({ host, port: 443 }, address)).toBe(false)
  })

  it('may be listed with a port', () => {
    expect(isDirect({ host: 'api.test', port: 8443 }, undefined)).toBe(true)
  })

  it.each([
    '127.0.0.1',
    '127.9.9.9',
    '::1',
    '0.0.0.0',
    '169.254.169.254',
    'fe80::1',
    '192.0.2.9',
    '::ffff:127.0.0.1',
  ])('is the protected address %s, without a list', (address) => {
    const alone = createIsDirect([], () => ['192.0.2.9'])

    expect(alone({ host: 'x.test', port: 443 }, address)).toBe(true)
    expect(alone({ host: 'x.test', port: 443 }, '198.51.100.1')).toBe(false)
  })

  it('is an own address of the machine as soon as it has it', () => {
    let machine: readonly string[] = []
    const moving = createIsDirect([], () => machine)
    expect(moving({ host: '192.0.2.9', port: 443 }, '192.0.2.9')).toBe(false)

    machine = ['192.0.2.9']

    expect(moving({ host: '192.0.2.9', port: 443 }, '192.0.2.9')).toBe(true)
  })
})
