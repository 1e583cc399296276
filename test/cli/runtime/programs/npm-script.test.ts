import { describe, expect, it } from 'vitest'
import { withoutNpmScript } from '../../../../packages/cli/src/runtime/programs/npm-script.ts'

const SHELL = {
  HOME: '/home/dev',
  PATH: '/home/dev/project/node_modules/.bin:/home/dev/.nvm/bin:/usr/bin:/bin',
  EDITOR: 'vi',
  LANG: 'C.UTF-8',
}

/** All that npm 11 adds for `npm --prefix /opt/checkout run -s palisade`. */
const SCRIPT = {
  COLOR: '0',
  INIT_CWD: '/home/dev/project',
  NODE: '/usr/bin/node',
  npm_command: 'run',
  npm_config_allow_scripts: '',
  npm_config_cache: '/home/dev/.npm',
  npm_config_global_prefix: '/opt/checkout',
  npm_config_globalconfig: '/opt/checkout/etc/npmrc',
  npm_config_init_module: '/home/dev/.npm-init.js',
  npm_config_local_prefix: '/opt/checkout',
  npm_config_loglevel: 'silent',
  npm_config_node_gyp: '/usr/lib/node_modules/npm/node_modules/node-gyp/bin/node-gyp.js',
  npm_config_noproxy: '',
  npm_config_npm_version: '11.19.1',
  npm_config_prefix: '/opt/checkout',
  npm_config_user_agent: 'npm/11.19.1 node/v20.20.2 linux x64 workspaces/false',
  npm_config_userconfig: '/home/dev/.npmrc',
  npm_execpath: '/usr/lib/node_modules/npm/bin/npm-cli.js',
  npm_lifecycle_event: 'palisade',
  npm_lifecycle_script: 'node packages/launcher/run.mjs palisade',
  npm_node_execpath: '/usr/bin/node',
  npm_package_json: '/opt/checkout/package.json',
  npm_package_name: 'palisade',
  npm_package_version: '0.1.0',
}
const FOLDERS = [
  '/opt/checkout/node_modules/.bin',
  '/opt/node_modules/.bin',
  '/node_modules/.bin',
  '/usr/lib/node_modules/npm/node_modules/@npmcli/run-script/lib/node-gyp-bin',
].join(':')

const inScript = (shell: Readonly<Record<string, string>>): Record<string, string> => ({
  ...shell,
  ...SCRIPT,
  PATH: `${FOLDERS}:${shell['PATH']}`,
})

describe('the environment of the shell that calls `npm run palisade`', () => {
  it('is as it was, with the folders of the person first', () => {
    expect(withoutNpmScript(inScript(SHELL))).toEqual(SHELL)
  })

  it('is as it was when npm is called in the checkout, with its own prefix', () => {
    const own = {
      npm_config_global_prefix: '/usr',
      npm_config_globalconfig: '/usr/etc/npmrc',
      npm_config_prefix: '/usr',
    }

    expect(withoutNpmScript({ ...inScript(SHELL), ...own })).toEqual(SHELL)
  })

  it('keeps the settings of the person', () => {
    const settings = {
      npm_config_cache: '/data/npm',
      npm_config_prefix: '/home/dev/.npm-global',
      npm_config_registry: 'https://registry.example.com/',
      NPM_CONFIG_USERCONFIG: '/etc/npmrc',
      NODE: '/opt/node',
    }

    expect(withoutNpmScript({ ...inScript(SHELL), ...settings })).toEqual({ ...SHELL, ...settings })
  })

  it('keeps the folders of an outer script', () => {
    const gyp = '/usr/lib/node_modules/npm/node_modules/@npmcli/run-script/lib/node-gyp-bin'
    const outer = `/home/dev/project/node_modules/.bin:/node_modules/.bin:${gyp}:/usr/bin`

    const { PATH: path } = withoutNpmScript(inScript({ ...SHELL, PATH: outer }))

    expect(path).toBe(outer)
  })

  it.each([undefined, 'test'])('stays where another script than `palisade` runs, %s', (event) => {
    const env = { ...inScript(SHELL), npm_lifecycle_event: event }

    expect(withoutNpmScript(env)).toBe(env)
  })

  it.each(['', '/usr/bin', '/home/dev/node_modules/.bin', '/a/node_modules/.bin:/usr/bin'])(
    'keeps the path `%s`, to which npm added nothing',
    (path) => {
      const env = { ...SHELL, PATH: path, npm_lifecycle_event: 'palisade' }

      expect(withoutNpmScript(env)).toEqual({ ...SHELL, PATH: path })
    },
  )
})
