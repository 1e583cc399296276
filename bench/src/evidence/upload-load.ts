import { join } from 'node:path'
import { startChild } from '../process/ask-child.ts'
import type { UploadReport, UploadRequest } from './upload-child.ts'

/** Uploads from a process of its own. */
export async function uploadFrom(request: UploadRequest): Promise<UploadReport> {
  const script = join(import.meta.dirname, 'upload-child.ts')
  const child = startChild<UploadRequest, UploadReport>(script)
  try {
    return await child.ask(request)
  } finally {
    child.stop()
  }
}
