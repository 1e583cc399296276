import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { UploadReport, UploadRequest } from './upload-child.ts'

/** Uploads from a process of its own, whose work is not counted as the server's. */
export async function uploadFrom(request: UploadRequest): Promise<UploadReport> {
  const child = fork(join(import.meta.dirname, 'upload-child.ts'), { serialization: 'advanced' })
  try {
    const ended = once(child, 'exit').then(([code]) => [
      { failure: `the process exited with ${String(code)}` },
    ])
    child.send(request)
    const [answer] = (await Promise.race([once(child, 'message'), ended])) as [
      UploadReport | { readonly failure: string },
    ]
    if ('failure' in answer) throw new Error(`the uploads failed: ${answer.failure}`)
    return answer
  } finally {
    child.disconnect()
  }
}
