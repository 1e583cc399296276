import { expect, it } from 'vitest'
import {
  cedarCondition,
  cedarContext,
} from '../../../../bench/src/decide/contenders/cedar-condition.ts'

it.each([
  ['hosts', 'example.com', 'context.host == "example.com"'],
  ['hosts', '*.example.com', 'context.parent == "example.com"'],
  ['hosts', '**.example.com', 'context.host like "*.example.com"'],
  ['addresses', '10.0.0.0/8', 'context.address.isInRange(ip("10.0.0.0/8"))'],
  ['paths', '/a/b', 'context.path == "/a/b"'],
  ['paths', '/a/*.md', 'context.path like "/a/*.md" && context.depth == 2'],
  ['paths', '/a/**', '(context.path like "/a" || context.path like "/a/*")'],
  [
    'paths',
    '/a/**/b/*.md',
    '(context.parent like "/a/b" || context.parent like "/a/*/b") && context.path like "*.md"',
  ],
] as const)('translates the %s pattern %s', (domain, pattern, expected) => {
  expect(cedarCondition(domain, pattern)).toBe(expected)
})

it.each(['/a/**/x*.md', '/a*/**'])('throws for %s, which Cedar cannot express', (pattern) => {
  expect(() => cedarCondition('paths', pattern)).toThrow('cedar cannot express')
})

it('adds parent and depth to the context of a request', () => {
  expect(cedarContext('hosts', 'a.b.example')).toEqual({ host: 'a.b.example', parent: 'b.example' })
  expect(cedarContext('paths', '/a/b.md')).toEqual({ path: '/a/b.md', parent: '/a', depth: 2 })
})
