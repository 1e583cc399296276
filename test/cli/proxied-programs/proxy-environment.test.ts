import { describe, expect, it } from 'vitest'
import { changeEnvironment } from '../../../packages/cli/src/proxied-programs/env-command.ts'
import {
  proxyEnvironment,
  withoutProxyEnvironment,
} from '../../../packages/cli/src/proxied-programs/proxy-environment.ts'

const PROXY = 'http://127.0.0.1:8421'
const SELF = ['/opt/node', '/opt/palisade.cjs']

type Env = Record<string, string>

function set(env: Env, { self = SELF, java = false } = {}): Env {
  return changeEnvironment(env, proxyEnvironment({ proxy: PROXY, env, self, java }))
}

function unset(env: Env): Env {
  return changeEnvironment(env, withoutProxyEnvironment(env))
}

describe('the environment of the proxy', () => {
  it('names the proxy to every program, and lets only loopback past it', () => {
    const env = set({ NO_PROXY: '*', no_proxy: 'example.com' })

    for (const name of ['HTTP_PROXY', 'http_proxy', 'https_proxy', 'ALL_PROXY', 'PIP_PROXY'])
      expect(env[name], name).toBe(PROXY)
    expect(env['NODE_USE_ENV_PROXY']).toBe('1')
    expect(env['NO_PROXY']).toBe('localhost,127.0.0.1,0.0.0.0,::1')
    expect(env['no_proxy']).toBe(env['NO_PROXY'])
    expect(env).not.toHaveProperty('JAVA_TOOL_OPTIONS')
  })

  it('changes nothing the second time', () => {
    const once = set({ GIT_SSH_COMMAND: 'ssh -i key', JAVA_TOOL_OPTIONS: '-Xmx1g' }, { java: true })

    expect(set(once, { java: true })).toEqual(once)
  })

  it('adds to settings that other programs put into the same variables', () => {
    const mine = {
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'user.name',
      GIT_CONFIG_VALUE_0: 'alice',
      GIT_SSH_COMMAND: 'ssh -i key',
      JAVA_TOOL_OPTIONS: '-Xmx1g',
    }

    const env = set(mine, { java: true })

    expect(env).toMatchObject({
      GIT_CONFIG_COUNT: '2',
      GIT_CONFIG_KEY_0: 'user.name',
      GIT_CONFIG_KEY_1: 'http.proxy',
      GIT_CONFIG_VALUE_1: PROXY,
    })
    expect(env['GIT_SSH_COMMAND']).toMatch(/^ssh -i key -o 'ProxyCommand=\/opt\/node .*%h %p'$/)
    expect(env['JAVA_TOOL_OPTIONS']).toMatch(/^-Xmx1g -Dhttp\.proxyHost=127\.0\.0\.1 /)
    expect(unset(env)).toEqual(mine)
  })

  it('leaves no variable behind when it is undone', () => {
    expect(unset(set({ HOME: '/home/dev' }, { java: true }))).toEqual({ HOME: '/home/dev' })
    expect(unset({ HOME: '/home/dev' })).toEqual({ HOME: '/home/dev' })
  })

  it('keeps a setting of git that was added after it', () => {
    const later = { ...set({}), GIT_CONFIG_COUNT: '2' }
    const env = { ...later, GIT_CONFIG_KEY_1: 'user.name', GIT_CONFIG_VALUE_1: 'alice' }

    expect(unset(env)).toEqual({
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'user.name',
      GIT_CONFIG_VALUE_0: 'alice',
    })
  })
})
