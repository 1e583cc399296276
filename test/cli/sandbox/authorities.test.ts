import { describe, expect, it } from 'vitest'
import { findAuthorities } from '../../../packages/cli/src/sandbox/authorities.ts'

const find = (env: Readonly<Record<string, string>>) => findAuthorities(env, '/home/dev/project')

describe('the authorities of a company', () => {
  it.each([
    'NODE_EXTRA_CA_CERTS',
    'SSL_CERT_FILE',
    'REQUESTS_CA_BUNDLE',
    'CURL_CA_BUNDLE',
    'GIT_SSL_CAINFO',
    'CARGO_HTTP_CAINFO',
    'PIP_CERT',
    'npm_config_cafile',
  ])('are those of %s, with the path as programs read it', (variable) => {
    expect(find({ [variable]: '/etc/ssl/corp.pem' })).toEqual([
      { variable, value: '/etc/ssl/corp.pem', paths: ['/etc/ssl/corp.pem'] },
    ])
    expect(find({ [variable]: '../corp.pem' })).toEqual([
      { variable, value: '../corp.pem', paths: ['/home/dev/corp.pem'] },
    ])
    expect(find({ [variable]: '' })).toEqual([])
  })

  it('are in several directories', () => {
    expect(find({ SSL_CERT_DIR: '/etc/ssl/certs::/opt/corp' })).toEqual([
      {
        variable: 'SSL_CERT_DIR',
        value: '/etc/ssl/certs::/opt/corp',
        paths: ['/etc/ssl/certs', '/opt/corp'],
      },
    ])
  })

  it('are in the store of Java, of whose options no other passes', () => {
    const store =
      '-Djavax.net.ssl.trustStore=/opt/corp/cacerts -Djavax.net.ssl.trustStorePassword=changeit'
    const code = '-javaagent:/tmp/a.jar -XX:OnError=sh -Djavax.net.ssl.keyStorePassword=secret'

    expect(find({ JAVA_TOOL_OPTIONS: `${code} ${store} -Dx=1`, MAVEN_OPTS: code })).toEqual([
      { variable: 'JAVA_TOOL_OPTIONS', value: store, paths: ['/opt/corp/cacerts'] },
    ])
  })

  it.each([
    '-Djavax.net.ssl.trustStoreType=PKCS12',
    '-javaagent:/tmp/-Djavax.net.ssl.trustStore=/a',
    `"-Djavax.net.ssl.trustStore=/a b"`,
    '-Djavax.net.ssl.trustStore=/a" -javaagent:/tmp/a.jar',
  ])('are not in the options `%s`', (options) => {
    expect(find({ JAVA_TOOL_OPTIONS: options })).toEqual([])
  })

  it('are no other variable, and have no NUL', () => {
    const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_OPTIONS: '--require=/a', HOME: '/a' }

    expect(find({ ...env, SSL_CERT_FILE: '/a\0B=c' })).toEqual([])
  })
})
