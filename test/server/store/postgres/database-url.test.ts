import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseDatabaseUrl } from '../../../../server/src/store/postgres/database-url.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

describe('the URL of a database', () => {
  it.each([
    ['postgres://db.example/palisade', { host: 'db.example', port: 5432, database: 'palisade' }],
    [
      'postgresql://ann:p%40ss%3F@[::1]:6543/a%20b',
      { host: '::1', port: 6543, user: 'ann', password: 'p@ss?', database: 'a b' },
    ],
    ['postgres:///palisade?host=/run/postgresql', { host: '/run/postgresql' }],
    ['postgres://ann@%2Frun%2Fpostgresql/palisade', { host: '/run/postgresql', user: 'ann' }],
    [
      'postgres://db/palisade?options=-c%20search_path%3Dp&application_name=one',
      { options: '-c search_path=p', application_name: 'one' },
    ],
  ])('is read: %s', (url, expected) => {
    expect(parseDatabaseUrl(url).client).toMatchObject(expected)
  })

  it('is shown without its password', () => {
    const { label } = parseDatabaseUrl('postgres://ann:secret@db.example:5433/palisade?options=x')

    expect(label).toBe('postgres://db.example:5433/palisade')
  })

  it.each([
    ['mysql://ann:secret@db/palisade', 'must be a URL such as'],
    ['db/palisade', 'must be a URL such as'],
    ['postgres://ann:sec#ret@db/palisade', 'must'],
    ['postgres://ann:1?secret@db/palisade', 'may have the parameters'],
    ['postgres://ann:secret@db', 'must name a host and a database'],
    ['postgres:///palisade', 'must name a host and a database'],
    ['postgres://ann:secret%zz@db/palisade', 'two hexadecimal digits'],
    ['postgres://ann:secret@db/palisade?query_timeout=0', 'may have the parameters'],
    ['postgres://ann:secret@db/palisade?sslmode=prefer', 'unknown `sslmode`'],
    ['postgres://ann:secret@db/palisade?sslmode=no-verify', 'unknown `sslmode`'],
    ['postgres://ann:secret@db/palisade?sslmode=verify-ca', 'needs `sslrootcert`'],
    ['postgres://ann:secret@db/palisade?sslrootcert=/absent.pem', 'cannot be read'],
    ['postgres:///palisade?host=/run&sslmode=require', 'Unix socket'],
  ])('is refused without revealing the password: %s', (url, message) => {
    expect(() => parseDatabaseUrl(url)).toThrow(RangeError)
    expect(() => parseDatabaseUrl(url)).toThrow(message)
    expect(() => parseDatabaseUrl(url)).not.toThrow('secret')
  })
})

describe('TLS to a database', () => {
  const tls = (url: string) => parseDatabaseUrl(url).client.ssl

  it('is verified for any network connection, unless it is turned off explicitly', () => {
    for (const url of [
      'postgres://db.example/p',
      'postgres://10.1.2.3/p',
      'postgres://db.example/p?sslmode=require',
      'postgres://localhost/p?sslmode=verify-full',
    ])
      expect(tls(url), url).toEqual({ rejectUnauthorized: true })
    expect(tls('postgres://db.example/p?sslmode=disable')).toBe(false)
  })

  it('is not used on the local machine by default', () => {
    for (const host of ['localhost', '127.0.0.1', '[::1]', '%2Frun'])
      expect(tls(`postgres://${host}/p`), host).toBe(false)
  })

  it('trusts the authority and sends the certificate named in the URL', () => {
    const file = join(temporaryDirectory(), 'x.pem')
    writeFileSync(file, 'PEM')

    expect(tls(`postgres://db/p?sslrootcert=${file}&sslcert=${file}&sslkey=${file}`)).toEqual({
      rejectUnauthorized: true,
      ca: 'PEM',
      cert: 'PEM',
      key: 'PEM',
    })
    expect(tls('postgres://db/p?sslrootcert=system')).toEqual({ rejectUnauthorized: true })
  })
})
