! A subroutine of a module that allocates and frees.
module model
contains
  subroutine repack(n, block)
    integer, intent(in) :: n
    real(8), allocatable, intent(inout) :: block(:)
    integer :: i
    do i = 1, n
      allocate (block(200000))
      block = i
      deallocate (block)
    end do
  end subroutine
end module

program main
  use model
  real(8), allocatable :: block(:)
  integer :: i
  do i = 1, 5
    call repack(100, block)
  end do
  print *, 'done', i
end program
