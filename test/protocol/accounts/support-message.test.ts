import { supportMessageSchema } from '@palisade/protocol'
import { expect, it } from 'vitest'

it.each([
  ['one line', 'Ask in #network, or call 4711'],
  ['any script and joiners', 'کمک می\u200cخواهم 👩\u200d💻 <https://help.example.com/?a&b>'],
  ['the longest text', '💻'.repeat(500)],
])('a support message may be %s', (_what, text) => {
  expect(supportMessageSchema.parse(` ${text} `)).toBe(text)
})

it.each([
  ['no text', ' \n'],
  ['more than 500 characters', 'x'.repeat(501)],
  ['a second line', 'a\nb'],
  ['an escape of a terminal', 'a\u001b[31mb'],
  ['a C1 control', 'a\u009bb'],
  ['a line separator', 'a\u2028b'],
  ['text that runs backwards', 'a\u202egpj.exe'],
  ['text in invisible tags', 'a\u{e0041}\u{e0042}'],
  ['an invisible space', '\u200b'],
  ['a letter that shows nothing', '\u3164'],
  ['a blank pattern of dots', '\u2800'],
  ['an unpaired surrogate', 'a\ud800'],
  ['another type', 4711],
])('a support message is not %s', (_what, text) => {
  expect(supportMessageSchema.safeParse(text).success).toBe(false)
})
