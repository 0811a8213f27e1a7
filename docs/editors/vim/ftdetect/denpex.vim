autocmd BufNewFile,BufRead *.rule setfiletype denpex
