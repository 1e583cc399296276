import { expect, it } from 'vitest'
import { rule } from '../../policy-core/policies.ts'
import { found, of, read } from './sets.ts'

/** The paths that look like directories and stand alone. */
function alone(allows: readonly string[], denies: readonly string[] = []): Set<string> {
  const deny = denies.length === 0 ? [] : [rule('d', 'deny', read, ...denies)]
  const findings = found(of(rule('a', 'allow', read, ...allows), ...deny)).map((each) =>
    each.split(' '),
  )
  return new Set(
    findings.flatMap(([code, , path = '']) => (code === 'directory_alone' ? [path] : [])),
  )
}

const FILES = [
  '/proc/cpuinfo',
  '/run/docker/socket',
  '/sys/class',
  '/dev/disk',
  '/var/log/syslog',
  '/var/run/socket',
  '/w/.git/index',
  '/w/gradlew',
  '/w/mvnw',
  '/w/configure',
  '/w/license',
  '/w/Makefile',
  '/w/Dockerfile',
  '/w/LICENSE',
  '~/.ssh/config',
  '~/.kube/config',
]
const DIRECTORIES = ['/var/log', '/srv/proc/data', '/w/configure/parts', '/var/lib', '~/run/data']

it('finds no allowed or denied files without an ending', () => {
  expect(FILES.filter((path) => alone([path]).size > 0)).toEqual([])
  const whole = ['/proc/**', '/run/**', '/sys/**', '/dev/**', '/var/**', '/w/**', '~/**']
  expect(alone(whole, FILES)).toEqual(new Set())
})

it('finds allowed and denied directories', () => {
  expect(DIRECTORIES.flatMap((path) => [...alone([path])])).toEqual(DIRECTORIES)
  expect(alone(['/var/**', '/srv/**', '/w/**', '~/**'], DIRECTORIES)).toEqual(new Set(DIRECTORIES))
})
