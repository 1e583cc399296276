import { describe, expect, it } from 'vitest'
import { ConfigError } from '../../../server/src/platform/config-error.ts'
import { readConfig } from '../../../server/src/config/config.ts'
import { isOrigin } from '../../../server/src/config/environment-schema.ts'

const MIB = 1024 * 1024

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment, '/srv')
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

describe('the configuration', () => {
  it('has a default for every setting', () => {
    expect(readConfig({}, '/srv')).toEqual({
      host: '127.0.0.1',
      overloadDelayMs: 250,
      historyDays: 0,
      maxHistoryMib: 4096,
      evidenceDays: 90,
      evidenceLimits: { ofOrganization: 8192 * MIB, ofDeviceADay: 32 * MIB },
      exports: { otlp: null, syslog: null, caFile: null },
      port: 8420,
      dataDir: '/srv/.palisade',
      databaseUrl: null,
      databaseConnections: 10,
      tls: null,
      publicUrl: null,
      accessTokenMinutes: 15,
      deviceTokenMinutes: 60,
      oidc: null,
      logLevel: 'info',
      trustedProxies: { kind: 'none' },
      webhookNetworks: [],
      stopDelayMs: 0,
      metrics: { enabled: true, token: null },
      tracing: null,
      lastSeenMs: 60_000,
      hints: { longestMs: 50_000, waiting: 20_000, waitingOfOrg: 10_000 },
      limits: { maxPolicies: 100, maxRules: 250, maxPolicyBytes: 409_600 },
      quotas: {
        tokensOfUser: 1000,
        tokensOfOrg: 10_000,
        teams: 5000,
        teamsOfUser: 200,
        members: 100_000,
        devices: 500_000,
        devicesOfUser: 200,
        ownDevices: 20,
        enrolmentTokens: 10_000,
        webhooks: 20,
      },
      writeRates: { perMinute: 30_000, ownPerHour: 600 },
    })
  })

  it('is read from the environment, ignoring variables of other programs', () => {
    const config = readConfig(
      {
        PALISADE_HOST: '::1',
        PALISADE_PORT: '0',
        PALISADE_DATA_DIR: '/data',
        PALISADE_PUBLIC_URL: 'https://palisade.example.com',
        PALISADE_ACCESS_TOKEN_MINUTES: '60',
        PALISADE_DEVICE_TOKEN_MINUTES: '5',
        PALISADE_LOG_LEVEL: 'silent',
        PALISADE_MAX_POLICIES: '3',
        PALISADE_PROXY_PORT: 'anything',
        DATABASE_URL: '',
      },
      '/srv',
    )

    expect(config).toMatchObject({
      host: '::1',
      port: 0,
      dataDir: '/data',
      publicUrl: 'https://palisade.example.com',
      accessTokenMinutes: 60,
      deviceTokenMinutes: 5,
      logLevel: 'silent',
      limits: { maxPolicies: 3, maxRules: 250 },
    })
  })

  it.each([
    [{}, null],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, null],
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, { serviceName: 'palisade-server', ratio: 1 }],
    [
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' },
      { serviceName: 'palisade-server', ratio: 1 },
    ],
    [
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example',
        OTEL_SERVICE_NAME: 'policies',
        OTEL_TRACES_SAMPLER_ARG: '0.25',
      },
      { serviceName: 'policies', ratio: 0.25 },
    ],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_TRACES_EXPORTER: 'none' }, null],
  ])('reads the tracing settings %j as %j', (environment, tracing) => {
    expect(readConfig(environment, '/srv').tracing).toEqual(tracing)
  })

  it('reports all problems at once, each in one line that names the setting', () => {
    const problems = problemsOf({
      PALISADE_PORT: 'http',
      PALISADE_ACCESS_TOKEN_MINUTES: '61',
      PALISADE_LOG_LEVEL: 'loud',
      PALISADE_PUBLIC_URL: 'https://user:secret@example.com/path',
      DATABASE_URL: 'mysql://user:secret@localhost/db',
    })

    expect(problems).toHaveLength(5)
    for (const name of [
      'PALISADE_PORT',
      'PALISADE_ACCESS_TOKEN_MINUTES',
      'PALISADE_LOG_LEVEL',
      'PALISADE_PUBLIC_URL',
      'DATABASE_URL',
    ])
      expect(problems.filter((problem) => problem.startsWith(`\`${name}\``))).toHaveLength(1)
    expect(problems.join()).not.toContain('secret')
    expect(problems.join()).not.toContain('\n')
  })

  it.each([
    ['PALISADE_PORT', ['65536', '-1', '', '1.5', ' 80', '0x50']],
    ['PALISADE_ACCESS_TOKEN_MINUTES', ['0', '61', 'soon']],
    ['PALISADE_DEVICE_TOKEN_MINUTES', ['0', '61', '1.5']],
    ['PALISADE_MAX_POLICIES', ['0', '-5', 'many']],
    ['PALISADE_TRUST_PROXY', ['', 'on', '0', '10', '10.0.0.0/8,', 'proxy.example', '0.0.0.0/0']],
    ['PALISADE_STOP_DELAY_SECONDS', ['-1', '301', 'soon']],
    ['PALISADE_METRICS', ['', 'yes']],
    ['PALISADE_METRICS_TOKEN', ['', 'short', 'with a space in it']],
    ['PALISADE_TLS_CERT', ['/etc/palisade/cert.pem']],
    ['PALISADE_TLS_KEY', ['/etc/palisade/key.pem']],
    ['OTEL_TRACES_EXPORTER', ['zipkin']],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', ['collector:4318']],
    ['OTEL_TRACES_SAMPLER_ARG', ['2', '-1', 'half', '1.5']],
    ['PALISADE_HOST', ['', 'a b']],
    ['PALISADE_DATA_DIR', ['']],
  ])('refuses invalid values of %s', (name, values) => {
    for (const value of values) expect(problemsOf({ [name]: value }), value).toHaveLength(1)
  })

  it('accepts an issuer with its audience, and takes `sub` for the username', () => {
    const issuer = {
      PALISADE_OIDC_ISSUER: 'https://id.example.com/',
      PALISADE_OIDC_AUDIENCE: 'api://palisade',
    }
    const claims = {
      PALISADE_OIDC_USERNAME_CLAIM: 'https://example.com/name',
      PALISADE_OIDC_TEAMS_CLAIM: 'groups',
    }

    expect(readConfig(issuer, '/srv').oidc).toEqual({
      issuer: 'https://id.example.com/',
      audience: 'api://palisade',
      usernameClaim: 'sub',
      teamsClaim: null,
    })
    expect(readConfig({ ...issuer, ...claims }, '/srv').oidc).toMatchObject({
      usernameClaim: 'https://example.com/name',
      teamsClaim: 'groups',
    })
  })

  it.each([
    [{ PALISADE_OIDC_ISSUER: 'https://id.example.com' }, '`PALISADE_OIDC_AUDIENCE` must be set'],
    [{ PALISADE_OIDC_AUDIENCE: 'x' }, '`PALISADE_OIDC_ISSUER` must be set'],
    [{ PALISADE_OIDC_TEAMS_CLAIM: 'x' }, '`PALISADE_OIDC_ISSUER` must be set'],
    [
      { PALISADE_OIDC_ISSUER: 'http://id.example.com', PALISADE_OIDC_AUDIENCE: 'x' },
      '`PALISADE_OIDC_ISSUER` must be an `https://` URL',
    ],
    [
      { PALISADE_OIDC_ISSUER: 'https://id.example.com', PALISADE_OIDC_AUDIENCE: '' },
      '`PALISADE_OIDC_AUDIENCE` must be 1 to 255',
    ],
    [
      {
        PALISADE_OIDC_ISSUER: 'https://id.example.com',
        PALISADE_OIDC_AUDIENCE: 'x',
        PALISADE_OIDC_USERNAME_CLAIM: 'a b',
      },
      '`PALISADE_OIDC_USERNAME_CLAIM` must be the name of a claim',
    ],
  ])('refuses an incomplete issuer: %j', (environment, problem) => {
    expect(problemsOf(environment)).toEqual([expect.stringContaining(problem)])
  })

  it('distinguishes an origin from other URLs', () => {
    for (const text of ['http://127.0.0.1:8420', 'https://a.example', 'http://[::1]:80'])
      expect(isOrigin(text), text).toBe(true)
    for (const text of [
      'ftp://a',
      'http://a/',
      'http://a\\b',
      'http://u@a',
      'a.example',
      'http://',
      'http://a:x',
    ])
      expect(isOrigin(text), text).toBe(false)
  })
})
